// layer_norm: (x - mean) / sqrt(variance + eps) * gain + bias along the last axis. The variance is
// that of the centred values, so a large mean costs no accuracy.
#include "espalier/ir/ops/pointwise.h"

namespace espalier::ops {
namespace {

constexpr double kEpsilon = 1e-5;

Result<Tensor> layer_norm(const Args& args) {
  const int64_t rows = args.integer("rows"), cols = args.integer("cols");
  const auto count = static_cast<double>(cols);
  const DType dtype = args.dtype();
  const Tensor x = placeholder("X", {rows, cols}, dtype);
  const Tensor gain = placeholder("gain", {cols}, dtype), bias = placeholder("bias", {cols}, dtype);
  const Axis k = reduce_axis("k", cols), l = reduce_axis("k", cols);
  const Tensor total = compute("total", {rows}, [&](Var i) { return sum(x(i, k), k); });
  const Tensor mean = compute("mean", {rows}, [&](Var i) { return total(i) / count; });
  const Tensor squares = compute("squares", {rows}, [&](Var i) {
    const Expr centred = x(i, l) - mean(i);
    return sum(centred * centred, l);
  });
  const Tensor scale = compute("inverse_deviation", {rows},
                               [&](Var i) { return 1.0 / sqrt(squares(i) / count + kEpsilon); });
  return compute(args.result_name("norm"), {rows, cols},
                 [&](Var i, Var j) { return (x(i, j) - mean(i)) * scale(i) * gain(j) + bias(j); });
}

}  // namespace

std::vector<OpDef> norm_ops() {
  return {{"layer_norm", {required_int("rows"), required_int("cols")}, layer_norm}};
}

}  // namespace espalier::ops
