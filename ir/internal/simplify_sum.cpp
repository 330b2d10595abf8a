// Sums, products and divisions of integers.
#include "espalier/ir/internal/divmod.h"
#include "espalier/ir/internal/simplifier.h"

namespace espalier {
namespace {

Expr without_broadcast(const Expr& e) {
  const auto* n = e.as<BroadcastNode>();
  return n != nullptr ? n->value : e;
}

}  // namespace

Simplifier::Value Simplifier::visit_sum(const Expr& e) {
  Sum sum = Sum::collecting(e.type());
  collect(e, 1, sum, true);
  sum.compact();
  recombine(sum, context_);
  return {sum.build(e), sum.range()};
}

Sum Simplifier::form_of(const Expr& e) {
  Sum sum = Sum::collecting(e.type());
  collect(e, 1, sum, false);
  sum.compact();
  recombine(sum, context_);
  return sum;
}

Sum Simplifier::normal_form(const Expr& e) {
  Sum sum(e.type());
  add_normal(sum, e, 1, context_);
  return sum;
}

// Adds factor * e, rewritten, to the sum. `e` may be a scalar in a sum of vectors.
void Simplifier::collect(const Expr& e, int64_t factor, Sum& sum, bool root) {
  switch (e.kind()) {
    case ExprKind::Const: sum.add_constant(wrapping_mul(factor, e.as<ConstNode>()->i)); return;
    case ExprKind::Var:
      if (const Expr* by = context_.replacement(e.get())) {
        add_normal(sum, *by, factor, context_);
      } else if (const Interval r = context_.of(e); r.is_point()) {
        sum.add_constant(wrapping_mul(factor, r.lo));
      } else {
        sum.add(Term{e, factor, r});
      }
      return;
    case ExprKind::Broadcast: collect(e.as<BroadcastNode>()->value, factor, sum, false); return;
    case ExprKind::Ramp:
      collect(e.as<RampNode>()->base, factor, sum, false);
      sum.add_lane(wrapping_mul(factor, e.as<RampNode>()->stride));
      return;
    default: break;
  }
  const auto* u = e.as<UnaryNode>();
  const auto* n = e.as<BinaryNode>();
  const bool negated = u != nullptr && u->op == UnaryOp::Neg;
  if (negated || (n != nullptr && n->op <= BinaryOp::TruncMod)) {
    if (!root && !e->unique()) {
      collect_shared(e, factor, sum);
    } else if (negated) {
      collect(u->a, wrapping_mul(factor, -1), sum, false);
    } else if (n->op == BinaryOp::Add || n->op == BinaryOp::Sub) {
      collect(n->a, factor, sum, false);
      collect(n->b, n->op == BinaryOp::Add ? factor : wrapping_mul(factor, -1), sum, false);
    } else if (n->op == BinaryOp::Mul) {
      collect_product(e, factor, sum);
    } else {
      collect_division(e, factor, sum);
    }
    return;
  }
  add_visited(visit(e), factor, sum);
}

void Simplifier::collect_shared(const Expr& e, int64_t factor, Sum& sum) {
  const Sum none = Sum::collecting(sum.type());
  if (auto& r = sums_.at(e, none);
      r.key.same_as(e) && r.epoch == context_.epoch() && r.value.type() == sum.type()) {
    sum.add(r.value, factor);
    return;
  }
  Sum own = none;
  collect(e, 1, own, true);
  sum.add(own, factor);
  sums_.at(e, none) = {e, context_.epoch(), std::move(own)};
}

void Simplifier::add_visited(const Value& v, int64_t factor, Sum& sum) {
  const auto* n = v.e.as<BinaryNode>();
  const bool is_sum = v.e.kind() == ExprKind::Const || v.e.kind() == ExprKind::Broadcast ||
                      v.e.kind() == ExprKind::Ramp ||
                      (n != nullptr && (n->op == BinaryOp::Add || n->op == BinaryOp::Sub ||
                                        n->op == BinaryOp::Mul));
  if (is_sum) {
    add_normal(sum, v.e, factor, context_);
  } else {
    sum.add(Term{v.e, factor, v.range});
  }
}

void Simplifier::collect_product(const Expr& e, int64_t factor, Sum& sum) {
  const auto* n = e.as<BinaryNode>();
  int64_t c;
  if (is_const_int(n->b, &c)) {
    collect(n->a, wrapping_mul(factor, c), sum, false);
    return;
  }
  if (is_const_int(n->a, &c)) {
    collect(n->b, wrapping_mul(factor, c), sum, false);
    return;
  }
  Sum a = form_of(n->a), b = form_of(n->b);
  if (a.is_constant() || b.is_constant()) {
    sum.add(a.is_constant() ? b : a, wrapping_mul(factor, (a.is_constant() ? a : b).constant()));
    return;
  }
  // Of (c * x) * y, c goes to the front.
  for (Sum* s : {&a, &b}) {
    if (s->terms().size() == 1 && s->constant() == 0 && !s->terms()[0].is_lane()) {
      Term t = s->terms()[0];
      factor = wrapping_mul(factor, t.coef);
      t.coef = 1;
      *s = Sum(s->type());
      s->add(std::move(t));
    }
  }
  const Interval range = range_of_binary(BinaryOp::Mul, e.type().dtype, a.range(), b.range());
  const bool vector = a.has_vector_part() || b.has_vector_part();
  const Expr x = vector ? a.build(n->a) : a.build_narrow(n->a);
  const Expr y = vector ? b.build(n->b) : b.build_narrow(n->b);
  const bool same = x.same_as(n->a) && y.same_as(n->b);
  sum.add(Term{same ? e : make_binary(BinaryOp::Mul, x, y), factor, range});
}

void Simplifier::collect_division(const Expr& e, int64_t factor, Sum& sum) {
  const auto* n = e.as<BinaryNode>();
  const DType t = e.type().dtype;
  const bool is_div = n->op == BinaryOp::FloorDiv || n->op == BinaryOp::TruncDiv;
  Sum a = form_of(n->a);
  Expr divisor = n->b;
  int64_t d = 0;
  if (!is_const_int(divisor, &d)) {
    const Value b = visit(divisor);
    divisor = b.e;
    if (!is_const_int(divisor, &d)) {
      const Interval range = range_of_binary(n->op, t, a.range(), b.range);
      if (range.is_point() && t != DType::U64) {
        sum.add_constant(wrapping_mul(factor, range.lo));
        return;
      }
      Expr x = a.build(n->a);
      const bool same = x.same_as(n->a) && divisor.same_as(n->b);
      const Expr x1 = without_broadcast(x), d1 = without_broadcast(divisor);
      const bool narrow = !x1.type().is_vector() && !d1.type().is_vector();
      const Expr atom = narrow ? make_binary(n->op, x1, d1) : make_binary(n->op, x, divisor);
      sum.add(Term{same && !(narrow && e.type().is_vector()) ? e : atom, factor, range});
      return;
    }
  }
  if (d == 0) return;  // 0 by definition
  if (d == 1 || (d == -1 && is_signed_int(t))) {
    if (is_div) sum.add(a, wrapping_mul(factor, d));
    return;
  }
  // Truncation is the floor where the dividend has no sign.
  BinaryOp op = n->op;
  const bool fits = d > 0 && a.exact_fits();
  const bool no_sign = is_unsigned_int(t) || (fits && a.exact().lo >= 0);
  if (no_sign && d > 0) op = is_div ? BinaryOp::FloorDiv : BinaryOp::FloorMod;
  if (fits && (op == BinaryOp::FloorDiv || op == BinaryOp::FloorMod)) {
    const DivMod divmod{context_, e};
    const std::optional<Sum> r = is_div ? divmod.quotient(a, d) : divmod.remainder(a, d);
    if (r) {
      sum.add(*r, factor);
      return;
    }
  }
  const Interval range = range_of_binary(op, t, a.range(), {d, d});
  const Expr x = a.build_narrow(n->a);
  if (op == n->op && x.same_as(n->a) && divisor.same_as(n->b)) {
    sum.add(Term{e, factor, range});
  } else {
    sum.add(Term{make_binary(op, x, make_int(x.type(), d)), factor, range});
  }
}

}  // namespace espalier
