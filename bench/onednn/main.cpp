// oneDNN on a workload: activations as they are (NHWC), constants in the layout that it prefers,
// repacked before the timing, the epilogue as post-operations where it has them.
#include "onednn/work.h"

namespace espalier::bench {
namespace {

using Way = Result<Entry> (*)(const Contest&);

constexpr std::pair<std::string_view, Way> kWays[] = {
    {"matmul", enter_matmul},
    {"batch_matmul", enter_matmul},
    {"conv1d", enter_convolution},
    {"conv2d", enter_convolution},
    {"conv3d", enter_convolution},
    {"depthwise_conv2d", enter_convolution},
    {"conv2d_transpose", enter_transposed_convolution},
    {"max_pool2d", enter_pool},
    {"avg_pool2d", enter_pool},
    {"global_avg_pool2d", enter_pool},
    {"softmax", enter_softmax},
    {"layer_norm", enter_layer_norm},
    {"reduce", enter_reduce},
    {"norm2", enter_norm2},
    {"attention_scores", enter_attention_scores},
    {"elementwise", enter_elementwise},
    {"transpose", enter_transpose},
};

Result<Entry> enter(const Contest& contest) {
  if (contest.op().empty()) return make_error(ErrorCode::Unsupported, "a definition as text");
  const ops::Args& keys = contest.keys();
  if (keys.dtype() != DType::F32 || (keys.has("layout") && keys.word("layout") != "nhwc")) {
    return make_error(ErrorCode::Unsupported, "only f32 in NHWC is compared");
  }
  for (const ArrayView& input : contest.inputs()) {
    if (input.shape.empty()) return make_error(ErrorCode::Unsupported, "an array without axes");
  }
  try {
    for (const auto& [op, way] : kWays) {
      if (op == contest.op()) return way(contest);
    }
  } catch (const dnnl::error& error) {
    return make_error(ErrorCode::Unsupported, "oneDNN: ", error.what());
  }
  return make_error(ErrorCode::Unsupported, "oneDNN has no operator ", contest.op());
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier::bench;
  return run_contestant(argc, argv, {.name = "onednn", .enter = enter, .slack = 1e-5});
}
