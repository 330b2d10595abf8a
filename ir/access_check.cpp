// Whether a definition's reads stay inside the tensors that they read.
#include <unordered_map>

#include "espalier/ir/access.h"
#include "espalier/ir/internal/reads.h"
#include "espalier/ir/mutate.h"
#include "espalier/ir/scalar_ops.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

Interval intersect(Interval a, Interval b) { return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)}; }

// Narrows the range of v by `v op c` (or its negation).
Interval narrowed(Interval range, BinaryOp op, int64_t c, bool holds) {
  constexpr int64_t kMin = INT64_MIN, kMax = INT64_MAX;
  const Interval below = c == kMin ? Interval{0, -1} : Interval{kMin, c - 1};
  const Interval above = c == kMax ? Interval{0, -1} : Interval{c + 1, kMax};
  switch (op) {
    case BinaryOp::Lt: return intersect(range, holds ? below : Interval{c, kMax});
    case BinaryOp::Ge: return intersect(range, holds ? Interval{c, kMax} : below);
    case BinaryOp::Gt: return intersect(range, holds ? above : Interval{kMin, c});
    case BinaryOp::Le: return intersect(range, holds ? Interval{kMin, c} : above);
    case BinaryOp::Eq: return holds ? intersect(range, {c, c}) : range;
    default: return range;
  }
}

// Bounds of an index whose reads are variables by now; a select's sides are bounded under what its
// condition says about a variable.
Interval bound_index(const Expr& e, Bounds bounds) {
  const auto* s = e.as<SelectNode>();
  if (s == nullptr) return bounds.of(e);
  const auto* cmp = s->cond.as<BinaryNode>();
  auto side = [&](const Expr& value, bool holds) {
    Bounds inner = bounds;
    int64_t c = 0;
    if (cmp != nullptr && cmp->a.kind() == ExprKind::Var && is_const_int(cmp->b, &c)) {
      const Interval* known = bounds.find(cmp->a.get());
      const Interval range = narrowed(known ? *known : Interval{}, cmp->op, c, holds);
      if (range.lo > range.hi) return range;  // this side is never taken
      inner.set(static_cast<const Var&>(cmp->a), range);
    }
    return bound_index(value, inner);
  };
  const Interval a = side(s->a, true), b = side(s->b, false);
  if (a.lo > a.hi) return b;
  if (b.lo > b.hi) return a;
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

// Reads inside an index become variables with what is known of their values.
class DataBounds {
 public:
  explicit DataBounds(Bounds bounds) : bounds_(std::move(bounds)) {}
  Interval of(const Expr& index) {
    Expr e = replace(index);
    return bound_index(simplify(e, bounds_), bounds_);
  }

 private:
  Expr replace(const Expr& e) {
    if (const auto* cast = e.as<CastNode>(); cast != nullptr && cast->type == kIndex) {
      // A cast of data to the index type keeps the value if that type holds it.
      if (const auto* read = cast->value.as<ReadNode>()) {
        if (read->type.dtype != DType::U64 && is_int(read->type.dtype)) return variable(*read);
      }
    }
    if (const auto* read = e.as<ReadNode>(); read != nullptr && read->type == kIndex) {
      return variable(*read);
    }
    return map_children(e, [&](const Expr& child) { return replace(child); });
  }
  Expr variable(const ReadNode& read) {
    for (const auto& [node, var] : vars_) {
      if (equal(node, Expr(Ref<const ExprNode>(&read)))) return var;
    }
    Var v("data");
    const auto& range = read.tensor->value_range;
    const DType t = read.type.dtype;
    if (range) {
      bounds_.set(v, {range->first, range->second - 1});
    } else {
      bounds_.set(v, {int_min(t), int_max(t)});
    }
    vars_.emplace_back(Expr(Ref<const ExprNode>(&read)), v);
    return v;
  }

  Bounds bounds_;
  std::vector<std::pair<Expr, Var>> vars_;
};

// The value of an index at a point of its axes.
int64_t value_at(const Expr& e, const std::unordered_map<const ExprNode*, int64_t>& point) {
  auto bits = [&](const Expr& x) { return static_cast<ScalarBits>(value_at(x, point)); };
  const DType t = e.type().dtype;
  ScalarBits result = 0;
  if (const auto* c = e.as<ConstNode>()) return c->i;
  if (e.kind() == ExprKind::Var) return point.at(e.get());
  if (const auto* cast = e.as<CastNode>()) {
    result = apply_cast(cast->value.type().dtype, t, bits(cast->value));
  } else if (const auto* u = e.as<UnaryNode>()) {
    result = apply(u->op, t, bits(u->a));
  } else if (const auto* b = e.as<BinaryNode>()) {
    result = apply(b->op, b->a.type().dtype, bits(b->a), bits(b->b));
  } else if (const auto* s = e.as<SelectNode>()) {
    return value_at(value_at(s->cond, point) != 0 ? s->a : s->b, point);
  } else {
    ESP_UNREACHABLE("kind of an integer index: ", static_cast<int>(e.kind()));
  }
  return static_cast<int64_t>(result);
}

// The exact range of an index, if it has few enough points to try them all and stays integer.
std::optional<Interval> enumerate(const Expr& index, const std::vector<Axis>& axes) {
  constexpr int64_t kMaxPoints = 1 << 16;
  bool plain = true;
  visit(index, [&](const Expr& e) {
    plain = plain && !is_float(e.type().dtype) && e.kind() != ExprKind::Reinterpret;
    return plain;
  });
  if (!plain) return std::nullopt;
  std::vector<Axis> used;
  int64_t points = 1;
  for (const Axis& a : axes) {
    if (!uses_var(index, a.var)) continue;
    used.push_back(a);
    const auto product = checked_mul(points, a.extent);
    if (!product || *product > kMaxPoints) return std::nullopt;
    points = *product;
  }
  Interval range{INT64_MAX, INT64_MIN};
  std::unordered_map<const ExprNode*, int64_t> point;
  for (int64_t n = 0; n < points; ++n) {
    int64_t rest = n;
    for (const Axis& a : used) {
      point[a.var.get()] = rest % a.extent;
      rest /= a.extent;
    }
    const int64_t v = value_at(index, point);
    range = {std::min(range.lo, v), std::max(range.hi, v)};
  }
  return range;
}

Error outside(const TensorNode& t, const ReadNode& read, size_t d, Interval range) {
  const TensorNode& p = *read.tensor;
  return make_error(ErrorCode::InvalidArgument, "'", t.name, "' reads '", p.name,
                    "' outside of it: the index of dimension ", d, " runs from ", range.lo, " to ",
                    range.hi, ", but the extent there is ", p.shape[d]);
}

Result<void> check_index(const TensorNode& t, const ReadNode& read, size_t d,
                         const std::vector<Axis>& axes, const Bounds& bounds) {
  const TensorNode& p = *read.tensor;
  const Expr& index = read.indices[d];
  const int64_t last = p.shape[d] - 1;
  if (!reads_data(index)) {
    const LinearIndex form = linear_index(index, axes);
    if (form.affine) {
      const Interval exact = *range_of(form, axes);
      if (exact.lo < 0 || exact.hi > last) return outside(t, read, d, exact);
      return {};
    }
    const Interval bound = bounds.of(index);
    if (bound.lo >= 0 && bound.hi <= last) return {};
    const auto exact = enumerate(index, axes);
    if (!exact) {
      return make_error(ErrorCode::InvalidArgument, "'", t.name, "' reads '", p.name,
                        "' with an index in dimension ", d, " that is not known to stay below ",
                        p.shape[d], "; put the read under a select or a where");
    }
    if (exact->lo < 0 || exact->hi > last) return outside(t, read, d, *exact);
    return {};
  }
  const Interval range = DataBounds(bounds).of(index);
  if (range.lo >= 0 && range.hi <= last) return {};
  const bool unknown = range.lo == INT64_MIN || range.hi == INT64_MAX;
  return make_error(
      ErrorCode::InvalidArgument, "'", t.name, "' reads '", p.name,
      "' with an index from data in dimension ", d, " that is not known to stay below ", p.shape[d],
      unknown ? std::string()
              : detail::concat(" (it may run from ", range.lo, " to ", range.hi, ")"),
      "; give the placeholder a range of values, or wrap the index with floormod or min and max");
}

}  // namespace

Result<void> check_accesses(const TensorNode& tensor) {
  const std::vector<Axis> axes = all_axes(tensor);
  if (is_empty(axes)) return {};
  const Bounds bounds = bounds_of(axes);
  std::optional<Error> error;
  for_each_read(tensor, [&](const ReadNode& read, bool guarded) {
    if (guarded) return;
    for (size_t d = 0; !error && d < read.indices.size(); ++d) {
      Result<void> ok = check_index(tensor, read, d, axes, bounds);
      if (!ok) error = std::move(ok).error();
    }
  });
  if (error) return *error;
  return {};
}

}  // namespace espalier
