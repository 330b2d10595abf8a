// transpose: axis d of the result is axis perm[d] of X.
#include <algorithm>

#include "espalier/ir/ops/op_def.h"

namespace espalier::ops {
namespace {

Result<OpResult> build(const Args& args) {
  const std::vector<int64_t>& shape = args.list("shape");
  const std::vector<int64_t>& perm = args.list("perm");
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool is_permutation = perm.size() == shape.size();
  for (size_t d = 0; d < sorted.size(); ++d) {
    is_permutation = is_permutation && sorted[d] == static_cast<int64_t>(d);
  }
  if (!is_permutation) {
    return args.error("'perm=", args.word("perm"), "': each axis of shape=", args.word("shape"),
                      " must occur once");
  }
  const Tensor x = placeholder("X", shape, args.dtype());
  std::vector<int64_t> result;
  for (int64_t p : perm) result.push_back(shape[static_cast<size_t>(p)]);
  const Tensor y = compute("transposed", result, [&](const std::vector<Var>& v) {
    std::vector<Expr> index(v.size());
    for (size_t d = 0; d < v.size(); ++d) index[static_cast<size_t>(perm[d])] = v[d];
    return x.at(std::move(index));
  });
  return OpResult(y);
}

}  // namespace

std::vector<OpDef> transpose_ops() {
  return {{"transpose", {list("shape", true), list("perm", true)}, build}};
}

}  // namespace espalier::ops
