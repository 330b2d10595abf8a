#include "espalier/ir/access.h"

#include <unordered_set>

#include "espalier/ir/children.h"
#include "espalier/ir/mutate.h"
#include "espalier/ir/simplify.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

std::vector<Axis> all_axes(const TensorNode& tensor) {
  std::vector<Axis> axes = tensor.axes;
  if (const auto* reduce = tensor.body.as<ReduceNode>()) {
    axes.insert(axes.end(), reduce->axes.begin(), reduce->axes.end());
  }
  return axes;
}

Bounds bounds_of(const std::vector<Axis>& axes) {
  Bounds bounds;
  for (const Axis& a : axes) {
    if (a.extent > 0) bounds.set(a.var, {0, a.extent - 1});
  }
  return bounds;
}

bool is_empty(const std::vector<Axis>& axes) {
  for (const Axis& a : axes) {
    if (a.extent <= 0) return true;
  }
  return false;
}

bool reads_data(const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& x) {
    found = found || x.kind() == ExprKind::Read;
    return !found;
  });
  return found;
}

// Calls `f` for each Read of a definition, outer ones first, left to right, a `where` before the
// value; `guarded` tells whether it stands under a select or a `where`. A node that occurs several
// times is visited once, and once more if it is guarded in one place only.
class ReadWalk {
 public:
  using Callback = std::function<void(const ReadNode&, bool guarded)>;
  explicit ReadWalk(Callback f) : f_(std::move(f)) {}

  void body(const Expr& e) {
    if (const auto* reduce = e.as<ReduceNode>()) {
      if (reduce->where) expr(reduce->where, false);
      expr(reduce->value, static_cast<bool>(reduce->where));
    } else {
      expr(e, false);
    }
  }

 private:
  void expr(const Expr& e, bool guarded) {
    if (!seen_[guarded ? 1 : 0].insert(e.get()).second) return;
    if (const auto* s = e.as<SelectNode>()) {
      expr(s->cond, guarded);
      expr(s->a, true);
      expr(s->b, true);
      return;
    }
    if (const auto* read = e.as<ReadNode>()) f_(*read, guarded);
    for_each_child(*e, [&](const Expr& child) { expr(child, guarded); });
  }

  Callback f_;
  std::unordered_set<const ExprNode*> seen_[2];
};

// A linear form whose coefficients and partial sums all fit.
std::optional<LinearIndex> linear(const Expr& e, const std::vector<Axis>& axes) {
  LinearIndex form;
  form.coef.assign(axes.size(), 0);
  if (const auto* c = e.as<ConstNode>()) {
    form.offset = c->i;
    return form;
  }
  if (e.kind() == ExprKind::Var) {
    for (size_t a = 0; a < axes.size(); ++a) {
      if (axes[a].var.same_as(e)) {
        form.coef[a] = 1;
        return form;
      }
    }
    return std::nullopt;
  }
  if (const auto* cast = e.as<CastNode>()) {
    if (cast->type != kIndex || cast->value.type() != kIndex) return std::nullopt;
    return linear(cast->value, axes);
  }
  int64_t factor_a = 1, factor_b = 1;
  std::optional<LinearIndex> a, b;
  if (const auto* u = e.as<UnaryNode>()) {
    if (u->op != UnaryOp::Neg) return std::nullopt;
    a = linear(u->a, axes);
    b = form;
    factor_a = -1;
  } else if (const auto* op = e.as<BinaryNode>()) {
    a = linear(op->a, axes);
    b = linear(op->b, axes);
    if (!a || !b) return std::nullopt;
    auto is_constant = [](const LinearIndex& f) {
      for (int64_t c : f.coef) {
        if (c != 0) return false;
      }
      return true;
    };
    if (op->op == BinaryOp::Mul && is_constant(*a)) {
      factor_b = a->offset;
      a = form;
    } else if (op->op == BinaryOp::Mul && is_constant(*b)) {
      factor_a = b->offset;
      b = form;
    } else if (op->op == BinaryOp::Sub) {
      factor_b = -1;
    } else if (op->op != BinaryOp::Add) {
      return std::nullopt;
    }
  }
  if (!a || !b) return std::nullopt;
  auto blend = [&](int64_t x, int64_t y) -> std::optional<int64_t> {
    auto left = checked_mul(x, factor_a);
    auto right = checked_mul(y, factor_b);
    if (!left || !right) return std::nullopt;
    return checked_add(*left, *right);
  };
  for (size_t i = 0; i < axes.size(); ++i) {
    auto c = blend(a->coef[i], b->coef[i]);
    if (!c) return std::nullopt;
    form.coef[i] = *c;
  }
  auto offset = blend(a->offset, b->offset);
  if (!offset) return std::nullopt;
  form.offset = *offset;
  return form;
}

// The least and greatest value over the axes, exactly; nothing when it overflows.
std::optional<Interval> range_of(const LinearIndex& form, const std::vector<Axis>& axes) {
  Interval range{form.offset, form.offset};
  for (size_t a = 0; a < axes.size(); ++a) {
    if (form.coef[a] == 0) continue;
    auto span = checked_mul(form.coef[a], axes[a].extent - 1);
    if (!span) return std::nullopt;
    auto end = checked_add(*span < 0 ? range.lo : range.hi, *span);
    if (!end) return std::nullopt;
    (*span < 0 ? range.lo : range.hi) = *end;
  }
  return range;
}

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
  if (auto form = linear(index, axes)) {
    auto range = range_of(*form, axes);
    if (!range) {
      return make_error(ErrorCode::OutOfRange, "'", t.name, "' reads '", p.name,
                        "': the index of dimension ", d, " overflows 64 bits");
    }
    if (range->lo < 0 || range->hi > last) return outside(t, read, d, *range);
    return {};
  }
  if (!reads_data(index)) {
    const Interval range = bounds.of(index);
    if (range.hi < 0 || range.lo > last) return outside(t, read, d, range);
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

LinearIndex linear_index(const Expr& index, const std::vector<Axis>& axes) {
  LinearIndex form;
  form.coef.assign(axes.size(), 0);
  if (reads_data(index)) {
    form.affine = false;
    form.coef.assign(axes.size(), 1);
    return form;
  }
  auto sound = [&](const std::optional<LinearIndex>& f) {
    return f && (is_empty(axes) || range_of(*f, axes));
  };
  std::optional<LinearIndex> found = linear(index, axes);
  Expr e = index;
  if (!sound(found) && !is_empty(axes)) {
    e = simplify(index, bounds_of(axes));
    found = linear(e, axes);
  }
  if (sound(found)) return *found;
  form.affine = false;
  for (size_t a = 0; a < axes.size(); ++a) form.coef[a] = uses_var(e, axes[a].var) ? 1 : 0;
  return form;
}

bool is_always_in_range(const ReadNode& read, const std::vector<Axis>& axes) {
  if (is_empty(axes)) return true;
  for (size_t d = 0; d < read.indices.size(); ++d) {
    const LinearIndex f = linear_index(read.indices[d], axes);
    if (!f.affine) return false;
    const auto range = range_of(f, axes);
    if (!range || range->lo < 0 || range->hi >= read.tensor->shape[d]) return false;
  }
  return true;
}

std::vector<Access> find_accesses(const TensorNode& tensor,
                                  const std::function<int(const TensorNode*)>& stage_of) {
  std::vector<Access> accesses;
  const std::vector<Axis> axes = all_axes(tensor);
  ReadWalk walk([&](const ReadNode& read, bool) {
    const int producer = stage_of(read.tensor.get());
    for (const Access& known : accesses) {
      if (known.producer != producer) continue;
      bool same = true;
      for (size_t d = 0; same && d < read.indices.size(); ++d) {
        same = equal(known.indices[d], read.indices[d]);
      }
      if (same) return;
    }
    Access access;
    access.producer = producer;
    access.indices = read.indices;
    for (const Expr& index : read.indices) access.linear.push_back(linear_index(index, axes));
    accesses.push_back(std::move(access));
  });
  walk.body(tensor.body);
  return accesses;
}

Result<void> check_accesses(const TensorNode& tensor) {
  const std::vector<Axis> axes = all_axes(tensor);
  if (is_empty(axes)) return {};
  const Bounds bounds = bounds_of(axes);
  std::optional<Error> error;
  ReadWalk walk([&](const ReadNode& read, bool guarded) {
    if (guarded) return;
    for (size_t d = 0; !error && d < read.indices.size(); ++d) {
      Result<void> ok = check_index(tensor, read, d, axes, bounds);
      if (!ok) error = std::move(ok).error();
    }
  });
  walk.body(tensor.body);
  if (error) return *error;
  return {};
}

}  // namespace espalier
