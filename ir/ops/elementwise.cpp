// elementwise: one formula, or a chain of them, on A; the first may take B, which broadcasts.
#include <algorithm>

#include "espalier/ir/ops/pointwise.h"
#include "espalier/ir/ops/types.h"

namespace espalier::ops {
namespace {

// The shape that both broadcast to, aligned at the last axes.
std::optional<std::vector<int64_t>> broadcast(const std::vector<int64_t>& a,
                                              const std::vector<int64_t>& b) {
  std::vector<int64_t> result(std::max(a.size(), b.size()));
  for (size_t d = 0; d < result.size(); ++d) {
    const int64_t x = d < a.size() ? a[a.size() - 1 - d] : 1;
    const int64_t y = d < b.size() ? b[b.size() - 1 - d] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    result[result.size() - 1 - d] = x == 1 ? y : x;
  }
  return result;
}

Result<OpResult> build(const Args& args) {
  std::vector<std::string> chain = args.chain("op");
  if (chain.empty()) return args.error("'op=': the operation is missing");
  const bool casts = std::count(chain.begin(), chain.end(), "cast") > 0;
  if (casts != args.has("to")) {
    return args.error(casts ? "'op=cast' needs the type to cast to, as in to=f64"
                            : "'to' goes with op=cast");
  }
  const std::vector<int64_t>& shape = args.list("shape");
  const Tensor a = placeholder("A", shape, args.dtype());
  const DType type = compute_type(args.dtype());
  const Expr sample = make_number(type, 0);
  const std::string first = chain[0];
  if (!binary_formula(first, sample, sample)) {
    if (args.has("b")) return args.error("'b' goes with an operation of two operands");
    return apply_chain(args, chain, OpResult(a));
  }
  const std::vector<int64_t>& b_shape = args.has("b") ? args.list("b") : shape;
  const auto result = broadcast(shape, b_shape);
  if (!result) {
    return args.error("'b=", args.word("b"),
                      "': it does not broadcast against shape=", args.word("shape"));
  }
  const Tensor b = placeholder("B", b_shape, args.dtype());
  const Tensor y = compute("after_" + first, *result, [&](const std::vector<Var>& v) {
    return *binary_formula(first, widened(type, a.at(broadcast_indices(shape, *result, v))),
                           widened(type, b.at(broadcast_indices(b_shape, *result, v))));
  });
  if (const std::string* message = poison_message(y->body)) {
    return args.error("'", first, "' does not work on values of type ", name_of(type), ": ",
                      *message);
  }
  chain.erase(chain.begin());
  return apply_chain(args, chain, OpResult(y, args.dtype()));
}

}  // namespace

std::vector<OpDef> elementwise_ops() {
  KeyDef op;
  op.name = "op";
  op.kind = ValueKind::Chain;
  op.required = true;
  KeyDef to;
  to.name = "to";
  to.kind = ValueKind::Type;
  return {{"elementwise", {op, list("shape", true), list("b", false), to}, build}};
}

}  // namespace espalier::ops
