// softmax: exp(x - max) over its sum, along one axis.
#include "espalier/ir/ops/softmax.h"

#include "espalier/ir/ops/types.h"

namespace espalier::ops {
namespace {

Result<OpResult> build(const Args& args) {
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
  ESP_TRY(const DType acc, float_accumulator_type(args));
  const Tensor x = placeholder("X", shape, args.dtype());
  return OpResult(softmax_along(x, static_cast<size_t>(along), acc), args.dtype());
}

}  // namespace

Tensor softmax_along(const Tensor& x, size_t along, DType acc) {
  const std::vector<int64_t>& shape = x->shape;
  const auto at = static_cast<std::ptrdiff_t>(along);
  std::vector<int64_t> line_shape = shape;
  line_shape.erase(line_shape.begin() + at);
  // An element's index from its line's and the place on it, and back.
  auto on_line = [&](const std::vector<Var>& line, const Expr& place) {
    std::vector<Expr> index(line.begin(), line.end());
    index.insert(index.begin() + at, place);
    return index;
  };
  auto line_of = [&](const std::vector<Var>& v) {
    std::vector<Expr> index(v.begin(), v.end());
    index.erase(index.begin() + at);
    return index;
  };
  const Axis k = reduce_axis("k", shape[along]), l = reduce_axis("k", shape[along]);
  const Tensor top = compute("top", line_shape, [&](const std::vector<Var>& line) {
    return max_over(widened(acc, x.at(on_line(line, k))), {k});
  });
  const Tensor power = compute("power", shape, [&](const std::vector<Var>& v) {
    return exp(widened(acc, x.at({v.begin(), v.end()})) - top.at(line_of(v)));
  });
  const Tensor total = compute("total", line_shape, [&](const std::vector<Var>& line) {
    return sum(power.at(on_line(line, l)), l);
  });
  // Division by the total of a line is one operation a line this way, not one an element.
  return compute("softmax", shape, [&](const std::vector<Var>& v) {
    return power.at({v.begin(), v.end()}) * (1.0 / total.at(line_of(v)));
  });
}

std::vector<OpDef> softmax_ops() {
  KeyDef rows = required_int("rows"), cols = required_int("cols"), axis = required_int("axis");
  rows.required = cols.required = axis.required = false;
  return {{"softmax", {rows, cols, list("shape", false), axis, accumulator_key()}, build}};
}

}  // namespace espalier::ops
