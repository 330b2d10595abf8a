// Matrix products and convolutions: constants in the layout that the library prefers.
#include "onednn/work.h"

namespace espalier::bench {
namespace {

// The key of a spatial dimension: kh, kw; without suffix in one dimension.
using Suffixes = std::vector<std::string>;

Suffixes suffixes_of(const std::string& op) {
  if (op == "conv1d") return {""};
  if (op == "conv3d") return {"d", "h", "w"};
  return {"h", "w"};
}

struct Geometry {
  memory::dims kernel, strides, dilation, before, after;
};

Geometry geometry_of(const Contest& contest) {
  const ops::Args& keys = contest.keys();
  Geometry g;
  for (const std::string& suffix : suffixes_of(contest.op())) {
    g.kernel.push_back(keys.integer("k" + suffix));
    g.strides.push_back(keys.integer("s" + suffix));
    g.dilation.push_back(keys.integer("d" + suffix) - 1);
    // Sides may have keys of their own.
    const bool lopsided = keys.has(suffix == "h" ? "pt" : "pl") && suffix != "d";
    const std::string both = "p" + suffix;
    g.before.push_back(keys.integer(!lopsided ? both : suffix == "h" ? "pt" : "pl"));
    g.after.push_back(keys.integer(!lopsided ? both : suffix == "h" ? "pb" : "pr"));
  }
  return g;
}

// [k..., ci/g, co], where co counts through the groups, as oneDNN's [g,] co/g, ci/g, k... .
memory::desc weights_of(const memory::dims& kernel, int64_t groups, int64_t ci_group, int64_t co) {
  memory::dims ours = kernel;
  ours.push_back(ci_group);
  ours.push_back(co);
  const memory::dims strides = dense_strides_of(ours);
  const size_t r = kernel.size();
  memory::dims w{co / groups, ci_group}, w_strides{1, strides[r]};
  w.insert(w.end(), kernel.begin(), kernel.end());
  w_strides.insert(w_strides.end(), strides.begin(), strides.begin() + static_cast<int64_t>(r));
  if (groups > 1) {
    w.insert(w.begin(), groups);
    w_strides.insert(w_strides.begin(), co / groups);
  }
  return {w, kF32, w_strides};
}

// Convolutions of both kinds, whose descriptors are made alike.
template <class Forward>
Result<Entry> enter_windows(const Contest& contest, const Geometry& g, int64_t groups,
                            dnnl::algorithm algorithm) {
  const auto library = std::make_shared<Library>();
  const ArrayView &x = contest.array("X"), &y = contest.array("Y"), &w = contest.array("W");
  const memory::desc x_desc = channels_last(x.shape), y_desc = channels_last(y.shape);
  const int64_t co = y.shape.back();
  const memory::desc w_desc = weights_of(g.kernel, groups, x.shape.back() / groups, co);

  std::vector<ChainStep> steps = contest.epilogue();
  const ArrayView* bias = nullptr;  // as the first step the primitive takes it itself
  if (!steps.empty() && steps[0].word == "bias") {
    bias = steps[0].operand;
    steps.erase(steps.begin());
  }
  ESP_TRY(const std::vector<Post> posts,
          posts_of(contest, *library, steps, y_desc, along(y.shape.size(), 1, co)));
  const bool constant = contest.keys().word("weights") == "constant";
  const memory::desc wanted = constant ? any(w_desc.dims()) : w_desc, bias_desc = dense({co});
  const memory to = library->of(y_desc, y);
  return entry_with<Forward>(
      library, posts, to,
      [&](const dnnl::primitive_attr& attributes) {
        const auto desc =
            bias != nullptr
                ? typename Forward::desc(kInference, algorithm, x_desc, wanted, bias_desc, y_desc,
                                         g.strides, g.dilation, g.before, g.after)
                : typename Forward::desc(kInference, algorithm, x_desc, wanted, y_desc, g.strides,
                                         g.dilation, g.before, g.after);
        return typename Forward::primitive_desc(desc, attributes, library->engine);
      },
      [&](const typename Forward::primitive_desc& chosen, Arguments& arguments) {
        arguments.emplace(DNNL_ARG_SRC, library->of(x_desc, x));
        arguments.emplace(DNNL_ARG_WEIGHTS, library->packed(w_desc, w, chosen.weights_desc()));
        arguments.emplace(DNNL_ARG_DST, to);
        if (bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, library->of(bias_desc, *bias));
      });
}

}  // namespace

Result<Entry> enter_convolution(const Contest& contest) {
  const int64_t groups = contest.op() == "depthwise_conv2d" ? contest.array("X").shape.back()
                                                            : contest.keys().integer("g");
  return enter_windows<dnnl::convolution_forward>(contest, geometry_of(contest), groups,
                                                  dnnl::algorithm::convolution_direct);
}

Result<Entry> enter_transposed_convolution(const Contest& contest) {
  Geometry g = geometry_of(contest);
  // What the result has beyond the least is padding that is not there at its end.
  const std::vector<int64_t>&x = contest.array("X").shape, &y = contest.array("Y").shape;
  for (size_t d = 0; d < g.kernel.size(); ++d) {
    const int64_t reach =
        g.strides[d] * (x[d + 1] - 1) + (g.dilation[d] + 1) * (g.kernel[d] - 1) + 1;
    g.after[d] = reach - g.before[d] - y[d + 1];
  }
  return enter_windows<dnnl::deconvolution_forward>(contest, g, 1,
                                                    dnnl::algorithm::deconvolution_direct);
}

Result<Entry> enter_matmul(const Contest& contest) {
  const auto library = std::make_shared<Library>();
  const ops::Args& keys = contest.keys();
  const int64_t m = keys.integer("m"), n = keys.integer("n"), k = keys.integer("k");
  memory::dims a{m, k}, b{k, n}, y{m, n};
  if (contest.op() == "batch_matmul") {
    for (memory::dims* dims : {&a, &b, &y}) dims->insert(dims->begin(), keys.integer("b"));
  }
  const memory::dims channel = along(y.size(), y.size() - 1, n);
  // Stored transposed: the last two strides change places.
  auto stored = [](const memory::dims& dims, bool transposed) -> memory::desc {
    if (!transposed) return dense(dims);
    memory::dims other = dims;
    const size_t r = dims.size();
    std::swap(other[r - 1], other[r - 2]);
    memory::dims strides = dense_strides_of(other);
    std::swap(strides[r - 1], strides[r - 2]);
    return {dims, kF32, strides};
  };
  const memory::desc a_desc = stored(a, keys.flag("ta")), b_desc = stored(b, keys.flag("tb"));
  const memory::desc y_desc = dense(y), bias_desc = dense(channel);
  std::vector<ChainStep> steps = contest.epilogue();
  const ArrayView* bias = nullptr;
  if (!steps.empty() && steps[0].word == "bias") {
    bias = steps[0].operand;
    steps.erase(steps.begin());
  }
  ESP_TRY(const std::vector<Post> posts, posts_of(contest, *library, steps, y_desc, channel));
  const memory::desc wanted = keys.word("weights") == "constant" ? any(b) : b_desc;
  const memory to = library->of(y_desc, contest.array("Y"));
  return entry_with<dnnl::matmul>(
      library, posts, to,
      [&](const dnnl::primitive_attr& attributes) {
        const auto desc = bias != nullptr ? dnnl::matmul::desc(a_desc, wanted, bias_desc, y_desc)
                                          : dnnl::matmul::desc(a_desc, wanted, y_desc);
        return dnnl::matmul::primitive_desc(desc, attributes, library->engine);
      },
      [&](const dnnl::matmul::primitive_desc& chosen, Arguments& arguments) {
        arguments.emplace(DNNL_ARG_SRC, library->of(a_desc, contest.array("A")));
        arguments.emplace(DNNL_ARG_WEIGHTS,
                          library->packed(b_desc, contest.array("B"), chosen.weights_desc()));
        arguments.emplace(DNNL_ARG_DST, to);
        if (bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, library->of(bias_desc, *bias));
      });
}

}  // namespace espalier::bench
