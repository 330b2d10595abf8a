// embedding: row X[r] of the table W for each r. Indices outside of [0, vocab) are an error of the
// call.
#include "espalier/ir/ops/op_def.h"

namespace espalier::ops {
namespace {

Result<Tensor> build(const Args& args) {
  const int64_t rows = args.integer("rows"), cols = args.integer("cols");
  const int64_t vocab = args.integer("vocab");
  const Tensor x = placeholder("X", {rows}, DType::I64, std::pair<int64_t, int64_t>{0, vocab});
  const Tensor table = args.word("weights") == "constant"
                           ? constant("W", {vocab, cols}, args.dtype())
                           : placeholder("W", {vocab, cols}, args.dtype());
  return compute(args.result_name("rows"), {rows, cols},
                 [&](Var r, Var c) { return table(x(r), c); });
}

}  // namespace

std::vector<OpDef> embedding_ops() {
  return {{"embedding",
           {required_int("rows"), required_int("cols"), required_int("vocab", 1),
            word("weights", {"constant", "variable"})},
           build}};
}

}  // namespace espalier::ops
