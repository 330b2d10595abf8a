// softmax: exp(x - max) over its sum, along one axis. A line that holds +inf, or nothing but -inf,
// is NaN.
#include "espalier/ir/ops/pointwise.h"

namespace espalier::ops {
namespace {

Result<Tensor> build(const Args& args) {
  std::vector<int64_t> shape;
  int64_t along = 1;
  if (args.has("shape")) {
    if (args.has("rows") || args.has("cols")) {
      return args.error("'shape' stands for 'rows' and 'cols'; give one or the other");
    }
    shape = args.list("shape");
    const auto rank = static_cast<int64_t>(shape.size());
    if (rank == 0) return args.error("'shape=': at least one axis is needed");
    along = args.has("axis") ? args.integer("axis") : rank - 1;
    if (along >= rank) {
      return args.error("'axis=", along, "': the axes of shape ", args.word("shape"), " are 0 to ",
                        rank - 1);
    }
  } else {
    if (!args.has("rows") || !args.has("cols")) {
      return args.error("the keys 'rows' and 'cols' are missing (or 'shape', with 'axis')");
    }
    if (args.has("axis")) return args.error("'axis' goes with 'shape'");
    shape = {args.integer("rows"), args.integer("cols")};
  }

  const Tensor x = placeholder("X", shape, args.dtype());
  const auto skip = static_cast<size_t>(along);
  std::vector<int64_t> line_shape = shape;
  line_shape.erase(line_shape.begin() + along);
  // An element's index from its line's and the place on it, and back.
  auto on_line = [&](const std::vector<Var>& line, const Expr& place) {
    std::vector<Expr> index(line.begin(), line.end());
    index.insert(index.begin() + along, place);
    return index;
  };
  auto line_of = [&](const std::vector<Var>& v) {
    std::vector<Expr> index(v.begin(), v.end());
    index.erase(index.begin() + along);
    return index;
  };
  const Axis k = reduce_axis("k", shape[skip]), l = reduce_axis("k", shape[skip]);
  const Tensor top = compute("top", line_shape, [&](const std::vector<Var>& line) {
    return max_over(x.at(on_line(line, k)), {k});
  });
  const Tensor power = compute("power", shape, [&](const std::vector<Var>& v) {
    return exp(x.at({v.begin(), v.end()}) - top.at(line_of(v)));
  });
  const Tensor total = compute("total", line_shape, [&](const std::vector<Var>& line) {
    return sum(power.at(on_line(line, l)), l);
  });
  // Division by the total of a line is one operation a line this way, not one an element.
  return compute(args.result_name("softmax"), shape, [&](const std::vector<Var>& v) {
    return power.at({v.begin(), v.end()}) * (1.0 / total.at(line_of(v)));
  });
}

}  // namespace

std::vector<OpDef> softmax_ops() {
  KeyDef rows = required_int("rows"), cols = required_int("cols"), axis = required_int("axis");
  rows.required = cols.required = axis.required = false;
  return {{"softmax", {rows, cols, list("shape", false), axis}, build}};
}

}  // namespace espalier::ops
