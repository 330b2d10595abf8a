// From a workload to oneDNN's primitives.
#pragma once

#include <dnnl.hpp>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "contest/contestant.h"

namespace espalier::bench {

using dnnl::memory;
using Arguments = std::unordered_map<int, memory>;

struct Library {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};

  memory of(const memory::desc& desc, const ArrayView& array) const {
    return {desc, engine, array.data};
  }
  /// Constants in the layout that a primitive wants, repacked now if it is another.
  memory packed(const memory::desc& plain, const ArrayView& array, const memory::desc& wanted);
};

inline constexpr auto kF32 = memory::data_type::f32;
inline constexpr auto kInference = dnnl::prop_kind::forward_inference;

memory::dims dense_strides_of(const memory::dims& dims);
inline memory::desc dense(const memory::dims& dims) { return {dims, kF32, dense_strides_of(dims)}; }
inline memory::desc any(const memory::dims& dims) { return {dims, kF32, memory::format_tag::any}; }
/// oneDNN's dimensions are n, c, then space, whatever the layout; `shape` is ours, channels last.
memory::desc channels_last(const std::vector<int64_t>& shape);
/// 1 in every dimension but one.
memory::dims along(size_t rank, size_t dim, int64_t extent);

/// A step after the operator proper: an operation with the primitive's result.
struct Post {
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0;
  std::optional<memory> operand = {};  // makes it a binary one
};

/// What a chain of steps becomes. `y` is the result as oneDNN has it, `channel` the shape of a
/// vector over our last axis in its dimensions. Unsupported if it has no such operation.
Result<std::vector<Post>> posts_of(const Contest& contest, const Library& library,
                                   const std::vector<ChainStep>& steps, const memory::desc& y,
                                   const memory::dims& channel);

dnnl::primitive_attr fused(const std::vector<Post>& posts, Arguments& arguments);

/// A primitive in place, or from another memory, for each step.
using Calls = std::vector<std::pair<dnnl::primitive, Arguments>>;
void append(const Library& library, const Post& post, const memory& from, const memory& y,
            Calls& calls);

Entry entry_of(const std::shared_ptr<Library>& library, Calls calls, const std::string& detail);

/// Whether it is oneDNN's plain implementation, for what it has no better one.
inline bool is_plain(const dnnl::primitive_desc_base& desc) {
  return std::string_view(desc.impl_info_str()).starts_with("ref");
}

/// One primitive with steps after it: fused if the library does that well, else as primitives of
/// their own. `make(attributes)` gives a primitive descriptor, `bind(desc, arguments)` adds all
/// arguments but those of fused steps.
template <class Primitive, class Make, class Bind>
Entry entry_with(const std::shared_ptr<Library>& library, const std::vector<Post>& posts,
                 const memory& y, const Make& make, const Bind& bind) {
  using Desc = typename Primitive::primitive_desc;
  auto attempt = [&](const dnnl::primitive_attr& attributes) -> std::optional<Desc> {
    try {
      return make(attributes);
    } catch (const dnnl::error& error) {
      if (error.status != dnnl_unimplemented && error.status != dnnl_invalid_arguments) throw;
      return std::nullopt;
    }
  };
  Arguments operands;
  std::optional<Desc> best = attempt(fused(posts, operands));
  bool is_fused = best.has_value();
  if (!posts.empty() && (!best || is_plain(*best))) {
    const std::optional<Desc> bare = attempt({});
    if (bare && (!best || !is_plain(*bare))) {
      best = bare;
      is_fused = false;
    }
  }
  if (!best) best = make({});  // for the error
  Calls calls;
  Arguments arguments = is_fused ? operands : Arguments();
  bind(*best, arguments);
  calls.emplace_back(Primitive(*best), arguments);
  std::string detail = best->impl_info_str();
  if (!is_fused) {
    for (const Post& post : posts) append(*library, post, y, y, calls);
    detail += "+" + std::to_string(posts.size()) + " passes";
  }
  return entry_of(library, std::move(calls), detail);
}

// One file each; they throw dnnl::error where the library refuses.
Result<Entry> enter_matmul(const Contest& contest);
Result<Entry> enter_convolution(const Contest& contest);
Result<Entry> enter_transposed_convolution(const Contest& contest);
Result<Entry> enter_pool(const Contest& contest);
Result<Entry> enter_softmax(const Contest& contest);
Result<Entry> enter_layer_norm(const Contest& contest);
Result<Entry> enter_reduce(const Contest& contest);
Result<Entry> enter_norm2(const Contest& contest);
Result<Entry> enter_attention_scores(const Contest& contest);
Result<Entry> enter_elementwise(const Contest& contest);
Result<Entry> enter_transpose(const Contest& contest);

}  // namespace espalier::bench
