// reduce: combines a tensor's elements over some of its axes, which the result no longer has.
// argmax and argmin give the place of the first extremum, or of the first NaN if there is one, as
// an index into the reduced axes in their order.
#include <algorithm>

#include "espalier/ir/ops/pointwise.h"
#include "espalier/ir/ops/types.h"

namespace espalier::ops {
namespace {

Result<void> check_axes(const Args& args) {
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
  return {};
}

// The axes of the result, those that are reduced, and the element for both.
struct Parts {
  std::vector<Axis> axes, reduced;
  std::vector<Expr> index;
};

Parts make_parts(const Args& args) {
  const std::vector<int64_t>& over = args.list("axes");
  Parts parts;
  for (size_t d = 0; d < args.list("shape").size(); ++d) {
    const bool is_reduced = std::count(over.begin(), over.end(), static_cast<int64_t>(d)) > 0;
    Axis axis{Var((is_reduced ? "r" : "i") + std::to_string(d)), args.list("shape")[d]};
    parts.index.push_back(axis);
    (is_reduced ? parts.reduced : parts.axes).push_back(std::move(axis));
  }
  return parts;
}

// Two reductions that may go in any order: the extremum, which is NaN if any element is, then the
// least place that holds it. A NaN equals nothing, so any NaN counts as being the extremum, and
// where there is one nothing else does.
Result<OpResult> arg_extremum(const Args& args, const Tensor& x, Combiner::Kind kind) {
  const Parts first = make_parts(args), second = make_parts(args);
  Expr place = make_index(0);
  for (const Axis& a : second.reduced) {
    if (a.extent == 0) {
      return args.error("'axes=", args.word("axes"), "': there is no ", args.word("op"),
                        " of no elements");
    }
    place = is_const(place, 0) ? Expr(a) : place * a.extent + a;
  }
  const Tensor extremum = compute_with_axes(
      "extremum", first.axes, make_reduce(Combiner::of(kind), x.at(first.index), first.reduced));
  std::vector<Expr> line(second.axes.begin(), second.axes.end());
  const Expr element = x.at(second.index);
  Expr found = element == extremum.at(line);
  if (is_float(x->dtype)) found = found || element != element;
  return OpResult(compute_with_axes(
      "place", second.axes, min_over(select(found, place, make_index(INT64_MAX)), second.reduced)));
}

Result<OpResult> build(const Args& args) {
  ESP_TRY_VOID(check_axes(args));
  const DType dtype = args.dtype();
  const Tensor x = placeholder("X", args.list("shape"), dtype);
  const std::string& op = args.word("op");
  const bool mean = op == "mean", adds = mean || op == "sum" || op == "prod";
  if (!adds && args.has("acc")) {
    return args.error("'acc' goes with sum, mean and prod; ", op,
                      " keeps the type of its elements");
  }
  if (op == "argmax") return arg_extremum(args, x, Combiner::Kind::Max);
  if (op == "argmin") return arg_extremum(args, x, Combiner::Kind::Min);
  const Parts parts = make_parts(args);
  DType acc = dtype;
  if (adds) {
    ESP_TRY(acc, accumulator_type(args, mean));
  }
  const auto kind = op == "prod"  ? Combiner::Kind::Prod
                    : op == "max" ? Combiner::Kind::Max
                    : op == "min" ? Combiner::Kind::Min
                                  : Combiner::Kind::Sum;
  const Tensor combined = compute_with_axes(
      mean ? "total" : op, parts.axes,
      make_reduce(Combiner::of(kind), widened(acc, x.at(parts.index)), parts.reduced));
  if (!mean) return OpResult(combined, dtype);
  double count = 1;
  for (const Axis& a : parts.reduced) count *= static_cast<double>(a.extent);
  const Tensor average = pointwise("mean", combined, [&](const std::vector<Var>& v) {
    return combined.at({v.begin(), v.end()}) / count;
  });
  return OpResult(average, dtype);
}

}  // namespace

std::vector<OpDef> reduce_ops() {
  KeyDef op = word("op", {"sum", "mean", "prod", "max", "min", "argmax", "argmin"});
  op.fallback.reset();
  op.required = true;
  return {{"reduce", {op, list("shape", true), list("axes", true), accumulator_key()}, build}};
}

}  // namespace espalier::ops
