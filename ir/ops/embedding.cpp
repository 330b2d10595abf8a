// embedding: row X[r] of the table W for each r. Indices outside of [0, vocab) are an error of the
// call.
#include "espalier/ir/ops/weights.h"

namespace espalier::ops {
namespace {

Result<OpResult> build(const Args& args) {
  const int64_t rows = args.integer("rows"), cols = args.integer("cols");
  const int64_t vocab = args.integer("vocab");
  const Tensor x = placeholder("X", {rows}, DType::I64, std::pair<int64_t, int64_t>{0, vocab});
  const Tensor table = make_weights(args, "W", {vocab, cols});
  const Tensor y = compute("rows", {rows, cols}, [&](Var r, Var c) { return table(x(r), c); });
  return OpResult(y);
}

}  // namespace

std::vector<OpDef> embedding_ops() {
  return {{"embedding",
           {required_int("rows"), required_int("cols"), required_int("vocab", 1), weights_key()},
           build}};
}

}  // namespace espalier::ops
