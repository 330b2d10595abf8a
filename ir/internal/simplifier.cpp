#include "espalier/ir/internal/simplifier.h"

#include <unordered_set>
#include <utility>

#include "espalier/ir/children.h"
#include "espalier/ir/mutate.h"
#include "espalier/support/check.h"

namespace espalier {
namespace {

const BroadcastNode* splat(const Expr& e) { return e.as<BroadcastNode>(); }

Expr narrowed(Expr e) { return splat(e) != nullptr ? splat(e)->value : e; }

bool is_int_or_bool(DType t) { return !is_float(t); }

}  // namespace

namespace {

bool reads_memory(const Expr& e, std::unordered_set<const ExprNode*>& seen) {
  if (e.kind() == ExprKind::Load || e.kind() == ExprKind::Read) return true;
  if (!e->unique() && e.kind() > ExprKind::Var && !seen.insert(e.get()).second) return false;
  bool found = false;
  for_each_child(*e, [&](const Expr& c) { found = found || reads_memory(c, seen); });
  return found;
}

}  // namespace

bool reads_memory(const Expr& e) {
  std::unordered_set<const ExprNode*> seen;  // nodes with several holders
  return reads_memory(e, seen);
}

Expr Simplifier::operator()(const Expr& e) {
  // A rewrite may make way for another; more than a few rounds would mean that two of them undo
  // each other.
  constexpr int kMostRounds = 8;
  Expr now = e;
  for (int round = 0; round < kMostRounds; ++round) {
    Expr next = visit_root(now).e;
    if (next.same_as(now)) break;
    now = std::move(next);
  }
  return now;
}

Simplifier::Value Simplifier::visit_root(const Expr& e) {
  const bool leaf = e.kind() == ExprKind::Const || e.kind() == ExprKind::Var;
  return leaf ? visit(e) : visit_node(e);
}

Simplifier::Value Simplifier::visit(const Expr& e) {
  switch (e.kind()) {
    case ExprKind::Const: return {e, {e.as<ConstNode>()->i, e.as<ConstNode>()->i}};
    case ExprKind::Var: {
      if (const Expr* by = context_.replacement(e.get())) return with_context_range(*by);
      const Interval r = context_.of(e);
      if (!is_float(e.type().dtype) && r.is_point()) return {make_int(e.type(), r.lo), r};
      return {e, r};
    }
    default: break;
  }
  if (e->unique()) return visit_node(e);
  {
    const auto& r = values_.at(e, {});
    if (r.key.same_as(e) && r.epoch == context_.epoch()) return r.value;
  }
  Value v = visit_node(e);
  values_.at(e, {}) = {e, context_.epoch(), v};
  return v;
}

Simplifier::Value Simplifier::with_context_range(Expr e) {
  const Interval r = context_.of(e);
  return {std::move(e), r};
}

Simplifier::Value Simplifier::visit_node(const Expr& e) {
  const DType t = e.type().dtype;
  Value v;
  switch (e.kind()) {
    case ExprKind::Unary: v = visit_unary(e); break;
    case ExprKind::Binary: v = visit_binary(e); break;
    case ExprKind::Select: v = visit_select(e); break;
    case ExprKind::Load: v = visit_load(e); break;
    case ExprKind::Reduce: v = visit_reduce(e); break;
    case ExprKind::Cast: v = visit_cast(e); break;
    case ExprKind::Ramp: v = visit_sum(e); break;
    case ExprKind::Broadcast: v = is_int(t) ? visit_sum(e) : visit_children(e); break;
    case ExprKind::LaneReduce: {
      const auto* n = e.as<LaneReduceNode>();
      const bool idempotent = n->op == BinaryOp::Min || n->op == BinaryOp::Max ||
                              n->op == BinaryOp::And || n->op == BinaryOp::Or;
      v = visit_children(e);
      const auto* r = v.e.as<LaneReduceNode>();
      if (idempotent && r != nullptr && splat(r->value)) {
        v = with_context_range(splat(r->value)->value);
      }
      break;
    }
    case ExprKind::Const:
    case ExprKind::Var:
    case ExprKind::Reinterpret:
    case ExprKind::Fma: v = visit_children(e); break;
    case ExprKind::Read: outside_selects([&] { v = visit_children(e); }); break;
  }
  if (is_int_or_bool(t) && v.range.is_point() && !is_const_int(v.e)) {
    v.e = make_int(e.type(), v.range.lo);
  }
  return v;
}

Simplifier::Value Simplifier::visit_children(const Expr& e) {
  return with_context_range(map_children(e, [this](const Expr& c) { return visit(c).e; }));
}

Simplifier::Value Simplifier::visit_unary(const Expr& e) {
  const auto* n = e.as<UnaryNode>();
  const DType t = e.type().dtype;
  if (t == DType::Bool) return visit_not(e);
  if (n->op == UnaryOp::Neg && is_int(t)) return visit_sum(e);
  Value a = visit(n->a);
  if (is_int(t) && n->op == UnaryOp::Abs && t != DType::U64) {
    if (a.range.lo >= 0) return a;
    if (a.range.hi <= 0) return visit(make_unary(UnaryOp::Neg, a.e));
  }
  if (const auto* b = splat(a.e)) {
    return with_context_range(make_broadcast(make_unary(n->op, b->value), e.type().lanes));
  }
  return with_context_range(a.e.same_as(n->a) ? e : make_unary(n->op, std::move(a.e)));
}

Simplifier::Value Simplifier::visit_binary(const Expr& e) {
  using enum BinaryOp;
  const auto* n = e.as<BinaryNode>();
  const DType t = n->a.type().dtype;
  if (is_int(t)) {
    if (is_comparison(n->op)) return visit_comparison(e);
    switch (n->op) {
      case Add:
      case Sub:
      case Mul:
      case FloorDiv:
      case FloorMod:
      case TruncDiv:
      case TruncMod: return visit_sum(e);
      case Min:
      case Max: return visit_extremum(e);
      default: break;
    }
  }
  if (t == DType::Bool && (n->op == And || n->op == Or)) return visit_logic(e);
  Value a = visit(n->a), b = visit(n->b);
  const auto *sa = splat(a.e), *sb = splat(b.e);
  if (sa != nullptr && sb != nullptr) {
    return with_context_range(
        make_broadcast(make_binary(n->op, sa->value, sb->value), e.type().lanes));
  }
  if (a.e.same_as(n->a) && b.e.same_as(n->b)) {
    if (!is_float(t) || is_comparison(n->op)) return with_context_range(e);
    return {e, {}};
  }
  return with_context_range(make_binary(n->op, std::move(a.e), std::move(b.e)));
}

Simplifier::Value Simplifier::visit_select(const Expr& e) {
  const auto* n = e.as<SelectNode>();
  Expr cond = visit(n->cond).e;
  if (const auto* b = splat(cond)) cond = b->value;
  int64_t truth;
  if (is_const_int(cond, &truth)) return visit(truth != 0 ? n->a : n->b);
  if (const auto* no = cond.as<UnaryNode>()) {  // a Not
    return visit(make_select(no->a, n->b, n->a));
  }
  const bool scalar = !cond.type().is_vector();
  const auto side = [&](const Expr& s, bool when) {
    if (!scalar) return visit(s);
    const Context::Mark mark = context_.mark();
    const bool outermost = !outermost_select_;
    if (outermost) outermost_select_ = mark;
    context_.assume(cond, when);
    Value v = visit(s);
    context_.restore(mark);
    if (outermost) outermost_select_.reset();
    return v;
  };
  Value a = side(n->a, true), b = side(n->b, false);
  if (equal(a.e, b.e)) return {a.e, hull(a.range, b.range)};
  if (e.type() == cond.type() && e.type().dtype == DType::Bool) {
    int64_t x, y;
    if (is_const_int(a.e, &x) && is_const_int(b.e, &y)) {  // they differ
      return x != 0 ? with_context_range(cond) : visit(make_unary(UnaryOp::Not, cond));
    }
  }
  const Interval range = hull(a.range, b.range);
  if (cond.same_as(n->cond) && a.e.same_as(n->a) && b.e.same_as(n->b)) return {e, range};
  const auto *sa = splat(a.e), *sb = splat(b.e);
  if (scalar && sa != nullptr && sb != nullptr) {
    return {make_broadcast(make_select(cond, sa->value, sb->value), e.type().lanes), range};
  }
  return {make_select(std::move(cond), std::move(a.e), std::move(b.e)), range};
}

template <class F>
void Simplifier::outside_selects(F visit_operands) {
  if (!outermost_select_) return visit_operands();
  const Context::Mark mark = *std::exchange(outermost_select_, std::nullopt);
  Context::Suspended inside = context_.suspend(mark);
  visit_operands();
  context_.resume(std::move(inside));
  outermost_select_ = mark;
}

Simplifier::Value Simplifier::visit_load(const Expr& e) {
  const auto* n = e.as<LoadNode>();
  const Type t = e.type();
  const auto finish = [&](Expr r) { return Value{std::move(r), type_range(t.dtype)}; };
  Expr predicate;
  std::vector<Expr> indices;
  outside_selects([&] {
    if (n->predicate) predicate = narrowed(visit(n->predicate).e);
    indices = visit_indices(n->indices);
  });
  if (predicate && is_const(predicate, 0)) return {make_number(t, 0), {0, 0}};
  if (predicate && is_const(predicate, 1)) predicate = {};
  const bool scalar = lanes_of(indices) == 1;
  if (t.is_vector() && scalar && predicate && predicate.type().is_vector()) {
    indices[0] = make_broadcast(indices[0], t.lanes);
  }
  bool changed = !predicate.same_as(n->predicate);
  for (size_t i = 0; i < indices.size(); ++i) {
    if (equal(indices[i], n->indices[i])) indices[i] = n->indices[i];
    changed |= !indices[i].same_as(n->indices[i]);
  }
  if (!changed) return finish(e);
  Expr load = n->flat ? make_flat_load(n->buffer, std::move(indices[0]), std::move(predicate))
                      : make_load(n->buffer, std::move(indices), std::move(predicate));
  // Of one element for all lanes.
  if (!load.type().is_vector() && t.is_vector()) load = make_broadcast(std::move(load), t.lanes);
  return finish(std::move(load));
}

// Vectors of one number become that number: other indices, or the access, say how many lanes.
std::vector<Expr> Simplifier::visit_indices(const std::vector<Expr>& indices) {
  std::vector<Expr> result;
  result.reserve(indices.size());
  for (const Expr& i : indices) result.push_back(narrowed(visit(i).e));
  return result;
}

Simplifier::Value Simplifier::visit_reduce(const Expr& e) {
  const auto* n = e.as<ReduceNode>();
  const Context::Mark mark = context_.mark();
  for (const Axis& a : n->axes) {
    if (a.extent > 0) context_.set_range(a.var.get(), {0, a.extent - 1});
  }
  Expr where;
  if (n->where) {
    where = visit(n->where).e;
    context_.assume(where, true);  // terms for which it is false are not evaluated
  }
  Expr value = visit(n->value).e;
  context_.restore(mark);
  if (where && is_const(where, 1)) where = {};
  if (value.same_as(n->value) && where.same_as(n->where)) return {e, type_range(e.type().dtype)};
  return {make_reduce(n->combiner, std::move(value), n->axes, std::move(where)),
          type_range(e.type().dtype)};
}

Simplifier::Value Simplifier::visit_cast(const Expr& e) {
  const auto* n = e.as<CastNode>();
  const DType to = e.type().dtype;
  Value v = visit(n->value);
  const DType from = v.e.type().dtype;
  if (const auto* b = splat(v.e)) {
    return with_context_range(make_broadcast(make_cast(Type(to), b->value), e.type().lanes));
  }
  const auto* inner = v.e.as<CastNode>();
  if (inner != nullptr && is_int_or_bool(to) && is_int_or_bool(from)) {
    // The inner cast goes if it kept the number, or all the bits that the outer one wants.
    const DType origin = inner->value.type().dtype;
    const Interval r = is_int_or_bool(origin) ? context_.of(inner->value) : Interval{};
    const bool number = is_int_or_bool(origin) && (origin != DType::U64 || r.lo >= 0) &&
                        from != DType::Bool && fits(Wide::of(r), from);
    const bool low_bits =
        is_int(origin) && is_int(to) && is_int(from) && bits_of(to) <= bits_of(from);
    if (number || low_bits) return visit(make_cast(e.type(), inner->value));
  }
  const Interval range = range_of_cast(from, to, v.range);
  return {v.e.same_as(n->value) ? e : make_cast(e.type(), std::move(v.e)), range};
}

}  // namespace espalier
