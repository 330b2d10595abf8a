// Pools, reductions, softmax and normalization.
#include <algorithm>

#include "onednn/work.h"

namespace espalier::bench {

Result<Entry> enter_pool(const Contest& contest) {
  using dnnl::algorithm;
  const auto library = std::make_shared<Library>();
  const ops::Args& keys = contest.keys();
  const ArrayView &x = contest.array("X"), &y = contest.array("Y");
  const bool global = contest.op() == "global_avg_pool2d";
  memory::dims kernel, strides, before, after;
  for (size_t d = 0; d < 2; ++d) {
    const std::string suffix = d == 0 ? "h" : "w";
    kernel.push_back(global ? x.shape[d + 1] : keys.integer("k" + suffix));
    strides.push_back(global ? 1 : keys.integer("s" + suffix));
    before.push_back(global ? 0 : keys.integer(d == 0 ? "pt" : "pl"));
    // As far as the last window reaches, which with ceil=1 may be past the padding.
    after.push_back((y.shape[d + 1] - 1) * strides[d] + kernel[d] - x.shape[d + 1] - before[d]);
  }
  const bool counts_padding = !global && keys.has("count_pad") && keys.flag("count_pad");
  const algorithm kind = contest.op() == "max_pool2d" ? algorithm::pooling_max
                         : counts_padding             ? algorithm::pooling_avg_include_padding
                                                      : algorithm::pooling_avg_exclude_padding;
  const memory::desc x_desc = channels_last(x.shape), y_desc = channels_last(y.shape);
  ESP_TRY(const std::vector<Post> posts,
          posts_of(contest, *library, contest.epilogue(), y_desc, along(4, 1, y.shape.back())));
  const memory to = library->of(y_desc, y);
  return entry_with<dnnl::pooling_forward>(
      library, posts, to,
      [&](const dnnl::primitive_attr& attributes) {
        const dnnl::pooling_forward::desc desc(kInference, kind, x_desc, y_desc, strides, kernel,
                                               before, after);
        return dnnl::pooling_forward::primitive_desc(desc, attributes, library->engine);
      },
      [&](const auto&, Arguments& arguments) {
        arguments.emplace(DNNL_ARG_SRC, library->of(x_desc, x));
        arguments.emplace(DNNL_ARG_DST, to);
      });
}

Result<Entry> enter_softmax(const Contest& contest) {
  const auto library = std::make_shared<Library>();
  const ArrayView &x = contest.array("X"), &y = contest.array("Y");
  const size_t rank = y.shape.size();
  const int64_t axis =
      contest.keys().has("axis") ? contest.keys().integer("axis") : static_cast<int64_t>(rank) - 1;
  const memory::desc desc = dense(y.shape);
  ESP_TRY(const std::vector<Post> posts, posts_of(contest, *library, contest.epilogue(), desc,
                                                  along(rank, rank - 1, y.shape.back())));
  const memory to = library->of(desc, y);
  return entry_with<dnnl::softmax_forward>(
      library, posts, to,
      [&](const dnnl::primitive_attr& attributes) {
        return dnnl::softmax_forward::primitive_desc({kInference, desc, static_cast<int>(axis)},
                                                     attributes, library->engine);
      },
      [&](const auto&, Arguments& arguments) {
        arguments.emplace(DNNL_ARG_SRC, library->of(desc, x));
        arguments.emplace(DNNL_ARG_DST, to);
      });
}

Result<Entry> enter_layer_norm(const Contest& contest) {
  constexpr float kEpsilon = 1e-5f;
  using dnnl::normalization_flags;
  const auto library = std::make_shared<Library>();
  const ArrayView &x = contest.array("X"), &y = contest.array("Y");
  const memory::desc desc = dense(y.shape), vector = dense({y.shape[1]});
  ESP_TRY(const std::vector<Post> posts,
          posts_of(contest, *library, contest.epilogue(), desc, along(2, 1, y.shape[1])));
  const memory to = library->of(desc, y);
  return entry_with<dnnl::layer_normalization_forward>(
      library, posts, to,
      [&](const dnnl::primitive_attr& attributes) {
        return dnnl::layer_normalization_forward::primitive_desc(
            {kInference, desc, kEpsilon,
             normalization_flags::use_scale | normalization_flags::use_shift},
            attributes, library->engine);
      },
      [&](const auto&, Arguments& arguments) {
        arguments.emplace(DNNL_ARG_SRC, library->of(desc, x));
        arguments.emplace(DNNL_ARG_SCALE, library->of(vector, contest.array("gain")));
        arguments.emplace(DNNL_ARG_SHIFT, library->of(vector, contest.array("bias")));
        arguments.emplace(DNNL_ARG_DST, to);
      });
}

// `reduced` is X's shape with 1 for the axes that the result does not have.
static Result<Entry> enter_reduction(const Contest& contest, dnnl::algorithm kind, float power,
                                     const memory::dims& reduced) {
  const auto library = std::make_shared<Library>();
  const ArrayView &x = contest.array("X"), &y = contest.array("Y");
  size_t last_kept = 0;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (reduced[d] != 1) last_kept = d;
  }
  const memory::desc x_desc = dense(x.shape), y_desc = dense(reduced);
  ESP_TRY(const std::vector<Post> posts,
          posts_of(contest, *library, contest.epilogue(), y_desc,
                   along(reduced.size(), last_kept, reduced[last_kept])));
  const memory to = library->of(y_desc, y);
  return entry_with<dnnl::reduction>(
      library, posts, to,
      [&](const dnnl::primitive_attr& attributes) {
        return dnnl::reduction::primitive_desc({kind, x_desc, y_desc, power, 0}, attributes,
                                               library->engine);
      },
      [&](const auto&, Arguments& arguments) {
        arguments.emplace(DNNL_ARG_SRC, library->of(x_desc, x));
        arguments.emplace(DNNL_ARG_DST, to);
      });
}

Result<Entry> enter_reduce(const Contest& contest) {
  using dnnl::algorithm;
  const std::string& op = contest.keys().word("op");
  const algorithm kind = op == "sum"    ? algorithm::reduction_sum
                         : op == "mean" ? algorithm::reduction_mean
                         : op == "prod" ? algorithm::reduction_mul
                         : op == "max"  ? algorithm::reduction_max
                                        : algorithm::reduction_min;
  if (op == "argmax" || op == "argmin") {
    return make_error(ErrorCode::Unsupported, "oneDNN has no ", op);
  }
  memory::dims reduced = contest.array("X").shape;
  for (int64_t axis : contest.keys().list("axes")) reduced[static_cast<size_t>(axis)] = 1;
  return enter_reduction(contest, kind, 0, reduced);
}

Result<Entry> enter_norm2(const Contest& contest) {
  return enter_reduction(contest, dnnl::algorithm::reduction_norm_lp_sum, 2,
                         {contest.array("X").shape[0], 1, 1});
}

}  // namespace espalier::bench
