// attention_scores: the softmax over keys of Q K^T for each head, from Q and K [seq, heads, dim]:
// two transposes, a batched product and a softmax in one DAG.
#include "espalier/ir/ops/softmax.h"
#include "espalier/ir/ops/types.h"

namespace espalier::ops {
namespace {

Result<OpResult> build(const Args& args) {
  const int64_t seq = args.integer("seq"), heads = args.integer("heads"), dim = args.integer("dim");
  ESP_TRY(const DType acc, float_accumulator_type(args));
  const Tensor q = placeholder("Q", {seq, heads, dim}, args.dtype());
  const Tensor k = placeholder("K", {seq, heads, dim}, args.dtype());
  const Tensor queries =
      compute("queries", {heads, seq, dim}, [&](Var h, Var i, Var d) { return q(i, h, d); });
  const Tensor keys =
      compute("keys", {heads, dim, seq}, [&](Var h, Var d, Var j) { return k(j, h, d); });
  const Axis d = reduce_axis("d", dim);
  const Tensor scores = compute("scores", {heads, seq, seq}, [&](Var h, Var i, Var j) {
    return sum(widened(acc, queries(h, i, d)) * widened(acc, keys(h, d, j)), d);
  });
  return OpResult(softmax_along(scores, 2, acc), args.dtype());
}

}  // namespace

std::vector<OpDef> attention_ops() {
  return {{"attention_scores",
           {required_int("seq"), required_int("heads"), required_int("dim"), accumulator_key()},
           build}};
}

}  // namespace espalier::ops
