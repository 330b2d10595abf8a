// reduce: combines a tensor's elements over some of its axes, which the result no longer has.
#include <algorithm>

#include "espalier/ir/ops/pointwise.h"

namespace espalier::ops {
namespace {

Result<Tensor> build(const Args& args) {
  const std::vector<int64_t>& shape = args.list("shape");
  const std::vector<int64_t>& over = args.list("axes");
  for (size_t i = 0; i < over.size(); ++i) {
    if (over[i] >= static_cast<int64_t>(shape.size())) {
      return args.error("'axes=", args.word("axes"), "': the axis ", over[i],
                        " does not exist in a shape of ", shape.size(), " axes");
    }
    if (std::count(over.begin(), over.end(), over[i]) > 1) {
      return args.error("'axes=", args.word("axes"), "': the axis ", over[i], " is given twice");
    }
  }
  const std::string& op = args.word("op");
  if (op == "argmax" || op == "argmin") {
    return args.unsupported("'op=", op, "' is not done yet; there are sum mean prod max min");
  }
  const Tensor x = placeholder("X", shape, args.dtype());
  std::vector<Axis> axes, reduced;
  std::vector<Expr> index;
  double count = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool is_reduced = std::count(over.begin(), over.end(), static_cast<int64_t>(d)) > 0;
    Axis axis{Var((is_reduced ? "r" : "i") + std::to_string(d)), shape[d]};
    if (is_reduced) count *= static_cast<double>(shape[d]);
    index.push_back(axis);
    (is_reduced ? reduced : axes).push_back(std::move(axis));
  }
  const bool mean = op == "mean";
  const auto kind = op == "prod"  ? Combiner::Kind::Prod
                    : op == "max" ? Combiner::Kind::Max
                    : op == "min" ? Combiner::Kind::Min
                                  : Combiner::Kind::Sum;
  const Tensor combined = compute_with_axes(mean ? "total" : args.result_name(op), axes,
                                            make_reduce(Combiner::of(kind), x.at(index), reduced));
  if (!mean) return combined;
  return pointwise(args.result_name("mean"), combined, [&](const std::vector<Var>& v) {
    return combined.at({v.begin(), v.end()}) / count;
  });
}

}  // namespace

std::vector<OpDef> reduce_ops() {
  KeyDef op = word("op", {"sum", "mean", "prod", "max", "min", "argmax", "argmin"});
  op.fallback.reset();
  op.required = true;
  return {{"reduce", {op, list("shape", true), list("axes", true)}, build}};
}

}  // namespace espalier::ops
