// layer_norm: (x - mean) / sqrt(variance + eps) * gain + bias along the last axis; the variance is
// that of the centred values, so a large mean costs no accuracy. rms_norm: x / sqrt(mean of squares
// + eps) * gain. norm2: the root of the sum of squares of each matrix.
#include "espalier/ir/ops/types.h"

namespace espalier::ops {
namespace {

constexpr double kEpsilon = 1e-5;

Result<OpResult> layer_norm(const Args& args) {
  const int64_t rows = args.integer("rows"), cols = args.integer("cols");
  const auto count = static_cast<double>(cols);
  const DType dtype = args.dtype();
  ESP_TRY(const DType acc, float_accumulator_type(args));
  const Tensor x = placeholder("X", {rows, cols}, dtype);
  const Tensor gain = placeholder("gain", {cols}, dtype), bias = placeholder("bias", {cols}, dtype);
  const Axis k = reduce_axis("k", cols), l = reduce_axis("k", cols);
  const Tensor total =
      compute("total", {rows}, [&](Var i) { return sum(widened(acc, x(i, k)), k); });
  const Tensor mean = compute("mean", {rows}, [&](Var i) { return total(i) / count; });
  const Tensor squares = compute("squares", {rows}, [&](Var i) {
    const Expr centred = widened(acc, x(i, l)) - mean(i);
    return sum(centred * centred, l);
  });
  const Tensor scale = compute("inverse_deviation", {rows},
                               [&](Var i) { return 1.0 / sqrt(squares(i) / count + kEpsilon); });
  const Tensor norm = compute("norm", {rows, cols}, [&](Var i, Var j) {
    return (widened(acc, x(i, j)) - mean(i)) * scale(i) * widened(acc, gain(j)) +
           widened(acc, bias(j));
  });
  return OpResult(norm, dtype);
}

Result<OpResult> rms_norm(const Args& args) {
  const int64_t rows = args.integer("rows"), cols = args.integer("cols");
  const DType dtype = args.dtype();
  ESP_TRY(const DType acc, float_accumulator_type(args));
  const Tensor x = placeholder("X", {rows, cols}, dtype), gain = placeholder("gain", {cols}, dtype);
  const Axis k = reduce_axis("k", cols);
  const Tensor squares = compute("squares", {rows}, [&](Var i) {
    const Expr value = widened(acc, x(i, k));
    return sum(value * value, k);
  });
  const Tensor scale = compute("inverse_rms", {rows}, [&](Var i) {
    return 1.0 / sqrt(squares(i) / static_cast<double>(cols) + kEpsilon);
  });
  const Tensor norm = compute("norm", {rows, cols}, [&](Var i, Var j) {
    return widened(acc, x(i, j)) * scale(i) * widened(acc, gain(j));
  });
  return OpResult(norm, dtype);
}

Result<OpResult> norm2(const Args& args) {
  const int64_t b = args.integer("b"), m = args.integer("m"), n = args.integer("n");
  ESP_TRY(const DType acc, float_accumulator_type(args));
  const Tensor x = placeholder("X", {b, m, n}, args.dtype());
  const Axis r = reduce_axis("r", m), c = reduce_axis("c", n);
  const Tensor squares = compute("squares", {b}, [&](Var i) {
    const Expr value = widened(acc, x(i, r, c));
    return sum(value * value, {r, c});
  });
  const Tensor norm = compute("norm", {b}, [&](Var i) { return sqrt(squares(i)); });
  return OpResult(norm, args.dtype());
}

}  // namespace

std::vector<OpDef> norm_ops() {
  const KeyDef rows = required_int("rows"), cols = required_int("cols");
  return {
      {"norm2",
       {required_int("b"), required_int("m"), required_int("n"), accumulator_key()},
       norm2},
      {"layer_norm", {rows, cols, accumulator_key()}, layer_norm},
      {"rms_norm", {rows, cols, accumulator_key()}, rms_norm},
  };
}

}  // namespace espalier::ops
