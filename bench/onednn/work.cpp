#include "onednn/work.h"

#include <algorithm>
#include <map>

namespace espalier::bench {
namespace {

using dnnl::algorithm;

// With what stands for a step in oneDNN; most take one operation.
const std::map<std::string_view, std::vector<Post>>& operations() {
  static const std::map<std::string_view, std::vector<Post>> all = {
      {"relu", {{algorithm::eltwise_relu}}},
      {"relu6", {{algorithm::eltwise_clip, 0, 6}}},
      {"gelu", {{algorithm::eltwise_gelu_erf}}},
      {"gelu_tanh", {{algorithm::eltwise_gelu_tanh}}},
      {"silu", {{algorithm::eltwise_swish, 1}}},
      {"sigmoid", {{algorithm::eltwise_logistic}}},
      {"tanh", {{algorithm::eltwise_tanh}}},
      {"hardswish", {{algorithm::eltwise_hardswish}}},
      {"hardsigmoid",
       {{algorithm::eltwise_linear, 1.0f / 6, 0.5f}, {algorithm::eltwise_clip, 0, 1}}},
      {"exp", {{algorithm::eltwise_exp}}},
      {"log", {{algorithm::eltwise_log}}},
      {"sqrt", {{algorithm::eltwise_sqrt}}},
      {"rsqrt", {{algorithm::eltwise_pow, 1, -0.5f}}},
      {"abs", {{algorithm::eltwise_abs}}},
      {"neg", {{algorithm::eltwise_linear, -1, 0}}},
      {"round", {{algorithm::eltwise_round}}},
      {"bias", {{algorithm::binary_add}}},
      {"add", {{algorithm::binary_add}}},
      {"cscale", {{algorithm::binary_mul}}},
      {"mul", {{algorithm::binary_mul}}},
      {"sub", {{algorithm::binary_sub}}},
      {"div", {{algorithm::binary_div}}},
      {"min", {{algorithm::binary_min}}},
      {"max", {{algorithm::binary_max}}},
  };
  return all;
}

}  // namespace

memory::dims dense_strides_of(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

memory::desc channels_last(const std::vector<int64_t>& shape) {
  memory::dims dims(shape.begin(), shape.end()), strides = dense_strides_of(dims);
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  std::rotate(strides.begin() + 1, strides.end() - 1, strides.end());
  return {dims, kF32, strides};
}

memory::dims along(size_t rank, size_t dim, int64_t extent) {
  memory::dims dims(rank, 1);
  dims[dim] = extent;
  return dims;
}

memory Library::packed(const memory::desc& plain, const ArrayView& array,
                       const memory::desc& wanted) {
  memory from = of(plain, array);
  if (wanted == plain) return from;
  memory to(wanted, engine);
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  return to;
}

Result<std::vector<Post>> posts_of(const Contest& contest, const Library& library,
                                   const std::vector<ChainStep>& steps, const memory::desc& y,
                                   const memory::dims& channel) {
  std::vector<Post> posts;
  for (const ChainStep& step : steps) {
    if (step.word == "scale") {
      const auto factor = static_cast<float>(contest.keys().number("scale"));
      posts.push_back({algorithm::eltwise_linear, factor, 0, {}});
      continue;
    }
    const auto found = operations().find(step.word);
    if (found == operations().end()) {
      return make_error(ErrorCode::Unsupported, "oneDNN has no operation for the step ", step.word);
    }
    posts.insert(posts.end(), found->second.begin(), found->second.end());
    if (step.operand == nullptr) continue;
    const std::vector<int64_t>& shape = step.operand->shape;
    memory::desc desc = y;
    if (step.word == "bias" || step.word == "cscale") {
      desc = dense(channel);
    } else if (static_cast<size_t>(step.operand->elements()) * sizeof(float) != y.get_size()) {
      // The same for all of a batch: aligned at the last dimensions.
      memory::dims dims(y.dims().size(), 1);
      std::copy_backward(shape.begin(), shape.end(), dims.end());
      desc = dense(dims);
    }
    posts.back().operand = library.of(desc, *step.operand);
  }
  return posts;
}

dnnl::primitive_attr fused(const std::vector<Post>& posts, Arguments& arguments) {
  dnnl::post_ops ops;
  for (const Post& post : posts) {
    if (post.operand) {
      arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | DNNL_ARG_SRC_1, *post.operand);
      ops.append_binary(post.algorithm, post.operand->get_desc());
    } else {
      ops.append_eltwise(1, post.algorithm, post.alpha, post.beta);
    }
  }
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(ops);
  return attributes;
}

void append(const Library& library, const Post& post, const memory& from, const memory& y,
            Calls& calls) {
  if (post.operand) {
    const dnnl::binary::desc desc(post.algorithm, from.get_desc(), post.operand->get_desc(),
                                  y.get_desc());
    calls.emplace_back(
        dnnl::binary({desc, library.engine}),
        Arguments{{DNNL_ARG_SRC_0, from}, {DNNL_ARG_SRC_1, *post.operand}, {DNNL_ARG_DST, y}});
  } else {
    const dnnl::eltwise_forward::desc desc(kInference, post.algorithm, y.get_desc(), post.alpha,
                                           post.beta);
    calls.emplace_back(dnnl::eltwise_forward({desc, library.engine}),
                       Arguments{{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, y}});
  }
}

Entry entry_of(const std::shared_ptr<Library>& library, Calls calls, const std::string& detail) {
  return {[library, calls = std::move(calls)] {
            for (const auto& [primitive, arguments] : calls) {
              primitive.execute(library->stream, arguments);
            }
            library->stream.wait();
          },
          detail};
}

}  // namespace espalier::bench
