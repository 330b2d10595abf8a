// oneDNN on a workload: activations as they are (NHWC), constants in the layout that it prefers,
// repacked before the timing, the epilogue as post-operations.
#ifdef ESPALIER_HAVE_ONEDNN
#include <dnnl.hpp>
#include <unordered_map>

#include "contest/contestant.h"

namespace espalier::bench {
namespace {

using dnnl::memory;
constexpr auto kF32 = memory::data_type::f32;

struct Library {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

memory::dims dense_strides_of(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

memory::desc dense(const memory::dims& dims) { return {dims, kF32, dense_strides_of(dims)}; }
memory::desc any(const memory::dims& dims) { return {dims, kF32, memory::format_tag::any}; }

// What a primitive is called with, and the post-operations that an epilogue becomes.
struct Plan {
  dnnl::primitive_attr attributes;
  std::unordered_map<int, memory> arguments;
  bool has_bias = false;  // the first step, which primitives take themselves
};

// `channel_dims`: the shape of a vector over the last axis of our result; `result_strides`: our
// result's as oneDNN's dimensions have it.
Result<Plan> plan_epilogue(const Contest& contest, Library& library,
                           const memory::dims& channel_dims, const memory::desc& result,
                           bool takes_bias) {
  using dnnl::algorithm;
  Plan plan;
  dnnl::post_ops ops;
  const std::vector<EpilogueStep> steps = contest.epilogue();
  for (size_t i = 0; i < steps.size(); ++i) {
    const EpilogueStep& step = steps[i];
    if (i == 0 && step.word == "bias" && takes_bias) {
      plan.has_bias = true;
    } else if (step.operand != nullptr) {
      const bool is_vector = step.operand->shape.size() == 1;
      const bool adds = step.word == "bias" || step.word == "add";
      const memory::desc desc = is_vector ? dense(channel_dims) : result;
      if (!is_vector &&
          static_cast<size_t>(step.operand->elements()) * sizeof(float) != result.get_size()) {
        return make_error(ErrorCode::Unsupported, "operands that broadcast over the batch");
      }
      plan.arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | DNNL_ARG_SRC_1,
                             memory(desc, library.engine, step.operand->data));
      ops.append_binary(adds ? algorithm::binary_add : algorithm::binary_mul, desc);
    } else if (step.word == "relu") {
      ops.append_eltwise(1, algorithm::eltwise_relu, 0, 0);
    } else if (step.word == "relu6") {
      ops.append_eltwise(1, algorithm::eltwise_clip, 0, 6);
    } else if (step.word == "gelu") {
      ops.append_eltwise(1, algorithm::eltwise_gelu_erf, 0, 0);
    } else if (step.word == "gelu_tanh") {
      ops.append_eltwise(1, algorithm::eltwise_gelu_tanh, 0, 0);
    } else if (step.word == "silu") {
      ops.append_eltwise(1, algorithm::eltwise_swish, 1, 0);
    } else if (step.word == "sigmoid") {
      ops.append_eltwise(1, algorithm::eltwise_logistic, 0, 0);
    } else if (step.word == "tanh") {
      ops.append_eltwise(1, algorithm::eltwise_tanh, 0, 0);
    } else if (step.word == "hardswish") {
      ops.append_eltwise(1, algorithm::eltwise_hardswish, 0, 0);
    } else if (step.word == "scale") {
      ops.append_eltwise(1, algorithm::eltwise_linear, static_cast<float>(contest.scale()), 0);
    } else {
      return make_error(ErrorCode::Unsupported, "the epilogue step ", step.word);
    }
  }
  plan.attributes.set_post_ops(ops);
  return plan;
}

memory repacked(Library& library, const memory::desc& plain, void* data, const memory::desc& want) {
  memory from(plain, library.engine, data);
  if (want == plain) return from;
  memory to(want, library.engine);
  dnnl::reorder(from, to).execute(library.stream, from, to);
  library.stream.wait();
  return to;
}

template <class Primitive>
Entry entry_of(const std::shared_ptr<Library>& library,
               const typename Primitive::primitive_desc& desc,
               std::unordered_map<int, memory> arguments) {
  const Primitive primitive(desc);
  return {[library, primitive, arguments = std::move(arguments)] {
            primitive.execute(library->stream, arguments);
            library->stream.wait();
          },
          desc.impl_info_str()};
}

Result<Entry> enter_matmul(const Contest& contest) {
  const auto library = std::make_shared<Library>();
  const int64_t m = contest.number("m", 1), n = contest.number("n", 1), k = contest.number("k", 1);
  const bool batched = contest.op() == "batch_matmul";
  memory::dims a{m, k}, b{k, n}, y{m, n}, channel{1, n};
  if (batched) {
    for (memory::dims* dims : {&a, &b, &y}) dims->insert(dims->begin(), contest.number("b", 1));
    channel.insert(channel.begin(), 1);
  }
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
  const memory::desc a_desc = stored(a, contest.number("ta", 0) != 0);
  const memory::desc b_desc = stored(b, contest.number("tb", 0) != 0);
  const memory::desc y_desc = dense(y), bias_desc = dense(channel);
  ESP_TRY(Plan plan, plan_epilogue(contest, *library, channel, y_desc, /*takes_bias=*/true));

  const bool constant = contest.word("weights", "variable") == "constant";
  const memory::desc wanted = constant ? any(b) : b_desc;
  const auto desc = plan.has_bias ? dnnl::matmul::desc(a_desc, wanted, bias_desc, y_desc)
                                  : dnnl::matmul::desc(a_desc, wanted, y_desc);
  const dnnl::matmul::primitive_desc primitive(desc, plan.attributes, library->engine);
  plan.arguments.emplace(DNNL_ARG_SRC, memory(a_desc, library->engine, contest.array("A").data));
  plan.arguments.emplace(DNNL_ARG_WEIGHTS, repacked(*library, b_desc, contest.array("B").data,
                                                    primitive.weights_desc()));
  plan.arguments.emplace(DNNL_ARG_DST, memory(y_desc, library->engine, contest.array("Y").data));
  if (plan.has_bias) {
    plan.arguments.emplace(DNNL_ARG_BIAS,
                           memory(bias_desc, library->engine, contest.array("bias").data));
  }
  return entry_of<dnnl::matmul>(library, primitive, std::move(plan.arguments));
}

// oneDNN's dimensions are n, c, h, w whatever the layout; ours are stored n, h, w, c.
memory::desc nhwc(int64_t n, int64_t h, int64_t w, int64_t c) {
  return {{n, c, h, w}, kF32, {h * w * c, 1, w * c, c}};
}

Result<Entry> enter_conv2d(const Contest& contest) {
  const auto library = std::make_shared<Library>();
  const bool depthwise = contest.op() == "depthwise_conv2d";
  const ArrayView& x = contest.array("X");
  const ArrayView& y = contest.array("Y");
  const int64_t ci = x.shape[3], co = y.shape[3];
  const int64_t groups = depthwise ? ci : contest.number("g", 1);
  const int64_t kh = contest.either("kh", "k", 1), kw = contest.either("kw", "k", 1);
  const int64_t sh = contest.either("sh", "s", 1), sw = contest.either("sw", "s", 1);
  const int64_t dh = contest.either("dh", "d", 1), dw = contest.either("dw", "d", 1);
  const int64_t ph = contest.either("ph", "p", 0), pw = contest.either("pw", "p", 0);
  const memory::dims before{contest.number("pt", ph), contest.number("pl", pw)};
  const memory::dims after{contest.number("pb", ph), contest.number("pr", pw)};

  const memory::desc x_desc = nhwc(x.shape[0], x.shape[1], x.shape[2], ci);
  const memory::desc y_desc = nhwc(y.shape[0], y.shape[1], y.shape[2], co);
  // [kh, kw, ci/g, co], where co counts through the groups; depthwise [kh, kw, c, mult] is the same
  // with one input channel a group.
  const int64_t ci_group = ci / groups, co_group = co / groups;
  memory::dims w{co_group, ci_group, kh, kw};
  memory::dims w_strides{1, co, kw * ci_group * co, ci_group * co};
  if (groups > 1) {
    w.insert(w.begin(), groups);
    w_strides.insert(w_strides.begin(), co_group);
  }
  const memory::desc w_desc(w, kF32, w_strides);
  ESP_TRY(Plan plan, plan_epilogue(contest, *library, {1, co, 1, 1}, y_desc, /*takes_bias=*/true));

  const bool constant = contest.word("weights", "constant") == "constant";
  const memory::desc wanted = constant ? any(w) : w_desc, bias_desc = dense({co});
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto direct = dnnl::algorithm::convolution_direct;
  const memory::dims strides{sh, sw}, dilation{dh - 1, dw - 1};
  using Forward = dnnl::convolution_forward;
  const auto desc = plan.has_bias ? Forward::desc(kind, direct, x_desc, wanted, bias_desc, y_desc,
                                                  strides, dilation, before, after)
                                  : Forward::desc(kind, direct, x_desc, wanted, y_desc, strides,
                                                  dilation, before, after);
  const Forward::primitive_desc primitive(desc, plan.attributes, library->engine);
  plan.arguments.emplace(DNNL_ARG_SRC, memory(x_desc, library->engine, x.data));
  plan.arguments.emplace(DNNL_ARG_WEIGHTS, repacked(*library, w_desc, contest.array("W").data,
                                                    primitive.weights_desc()));
  plan.arguments.emplace(DNNL_ARG_DST, memory(y_desc, library->engine, y.data));
  if (plan.has_bias) {
    plan.arguments.emplace(DNNL_ARG_BIAS,
                           memory(bias_desc, library->engine, contest.array("bias").data));
  }
  return entry_of<Forward>(library, primitive, std::move(plan.arguments));
}

Result<Entry> enter(const Contest& contest) {
  if (contest.word("dtype", "f32") != "f32" || contest.word("layout", "nhwc") != "nhwc") {
    return make_error(ErrorCode::Unsupported, "only f32 in NHWC is compared");
  }
  try {
    if (contest.op() == "matmul" || contest.op() == "batch_matmul") return enter_matmul(contest);
    if (contest.op() == "conv2d" || contest.op() == "depthwise_conv2d") {
      return enter_conv2d(contest);
    }
  } catch (const dnnl::error& error) {
    return make_error(ErrorCode::Unsupported, "oneDNN: ", error.what());
  }
  return make_error(ErrorCode::Unsupported, "the operator ", contest.op());
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  return espalier::bench::run_contestant(argc, argv, espalier::bench::enter);
}
#else
#include <cstdio>

int main() { std::puts("{\"unsupported\": \"this build is without oneDNN\"}"); }
#endif
