// matmul: Y[m, n] = sum over k of A[m, k] * B[k, n]; batch_matmul: the same for each of b. With
// ta=1, A is stored [k, m]; with tb=1, B is stored [n, k]. Integers give Y the accumulator's type.
#include "espalier/ir/ops/types.h"
#include "espalier/ir/ops/weights.h"

namespace espalier::ops {
namespace {

Result<OpResult> build(const Args& args, bool batched) {
  const int64_t m = args.integer("m"), n = args.integer("n"), k = args.integer("k");
  const DType dtype = args.dtype();
  ESP_TRY(const DType acc, accumulator_type(args));
  const bool ta = args.flag("ta"), tb = args.flag("tb");
  auto shape = [&](bool transposed, int64_t rows, int64_t cols) {
    std::vector<int64_t> s;
    if (batched) s.push_back(args.integer("b"));
    s.push_back(transposed ? cols : rows);
    s.push_back(transposed ? rows : cols);
    return s;
  };
  const Tensor a = placeholder("A", shape(ta, m, k), dtype);
  const Tensor b = make_weights(args, "B", shape(tb, k, n));
  std::vector<Axis> axes;
  std::vector<Expr> batch;
  if (batched) {
    axes.push_back(Axis{Var("b"), args.integer("b")});
    batch.push_back(axes[0]);
  }
  const Axis i{Var("i"), m}, j{Var("j"), n}, r = reduce_axis("k", k);
  axes.push_back(i);
  axes.push_back(j);
  auto element = [&](const Tensor& t, bool transposed, const Axis& row, const Axis& col) {
    std::vector<Expr> index = batch;
    index.push_back(transposed ? col : row);
    index.push_back(transposed ? row : col);
    return widened(acc, t.at(std::move(index)));
  };
  const Tensor product =
      compute_with_axes("product", axes, sum(element(a, ta, i, r) * element(b, tb, r, j), r));
  return OpResult(product, is_int(dtype) ? acc : dtype);
}

std::vector<KeyDef> keys(bool batched) {
  std::vector<KeyDef> k;
  if (batched) k.push_back(required_int("b"));
  for (const char* name : {"m", "n", "k"}) k.push_back(required_int(name));
  k.push_back(flag("ta"));
  k.push_back(flag("tb"));
  k.push_back(weights_key(false));
  // What the epilogue's `add` takes: a matrix, or a row, in either case the same for all b.
  if (batched) k.push_back(word("add", {"mn", "n"}));
  k.push_back(accumulator_key());
  return k;
}

}  // namespace

std::vector<OpDef> matmul_ops() {
  return {
      {"matmul", keys(false), [](const Args& args) { return build(args, false); }},
      {"batch_matmul", keys(true), [](const Args& args) { return build(args, true); }},
  };
}

}  // namespace espalier::ops
