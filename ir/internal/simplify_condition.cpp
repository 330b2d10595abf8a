// Comparisons, logic, minima and maxima of integers.
#include <algorithm>

#include "espalier/ir/internal/simplifier.h"
#include "espalier/support/check.h"

namespace espalier {
namespace {

using enum BinaryOp;

Int128 ceildiv(Int128 a, Int128 b) { return -floordiv(-a, b); }

// terms < limit.
struct Below {
  Sum terms;
  Int128 limit;
};

// Divides by common factors and drops what cannot matter: with terms = g * s + small, small in
// [lo, hi], and r = limit - g * q in (hi - g, lo], the terms are below the limit exactly if s < q.
void tighten(Below& b) {
  while (true) {
    int64_t best = 1;
    Int128 best_limit = 0;
    for (const Term& candidate : b.terms.terms()) {
      const int64_t g = candidate.coef < 0 ? -candidate.coef : candidate.coef;
      if (g <= best) continue;
      Wide small;
      for (const Term& t : b.terms.terms()) {
        if (t.coef % g != 0) small = small + Wide::of(t.range) * t.coef;
      }
      if (!small.bounded()) continue;
      const Int128 q = ceildiv(b.limit - small.lo, g);
      if (small.hi < g + (b.limit - g * q)) {
        best = g;
        best_limit = q;
      }
    }
    if (best == 1) {
      const int64_t g = b.terms.gcd();
      if (g <= 1) return;
      best = g;
      best_limit = ceildiv(b.limit, g);
    }
    b.terms = b.terms.part(best, [&](const Term& t) { return t.coef % best == 0; });
    b.limit = best_limit;
  }
}

bool has_smallest(const Sum& s) {
  for (const Term& t : s.terms()) {
    if (t.coef == INT64_MIN) return true;
  }
  return false;
}

}  // namespace

Simplifier::Value Simplifier::visit_comparison(const Expr& e) {
  const auto* n = e.as<BinaryNode>();
  Value v = decide(e, n->op, *n, form_of(n->a), form_of(n->b));
  if (!v.range.is_point() && !v.e.type().is_vector()) {
    if (const std::optional<bool> known = context_.known(v.e)) {
      v.range = {*known, *known};
      v.e = make_bool(*known);
    }
  }
  return v;
}

Simplifier::Value Simplifier::decide(const Expr& e, BinaryOp op, const BinaryNode& n, Sum a,
                                     Sum b) {
  const Type t = n.a.type();
  const auto truth = [&](bool v) { return Value{make_int(e.type(), v), {v, v}}; };
  // `lhs op rhs`, as narrow as it can be; the old node if it is that.
  const auto compare = [&](BinaryOp o, const Sum& lhs, const Sum& rhs) {
    const bool vector = lhs.has_vector_part() || rhs.has_vector_part();
    if (!vector && t.is_vector()) {
      const Expr c = make_binary(o, lhs.build_narrow(), rhs.build_narrow());
      return Value{make_broadcast(c, t.lanes), {0, 1}};
    }
    Expr x = lhs.build(n.a), y = rhs.build(n.b);
    const bool same = o == n.op && x.same_as(n.a) && y.same_as(n.b);
    return Value{same ? e : make_binary(o, std::move(x), std::move(y)), {0, 1}};
  };

  // The difference is a number, not of the operands' type.
  Sum d(t.with_dtype(DType::I64));
  if (!a.exact_fits() || !b.exact_fits() || !d.add_exactly(a, 1) || !d.add_exactly(b, -1)) {
    // Something may wrap: only equal sides, or sides a constant apart, tell anything.
    Sum apart = a;
    apart.add(b, -1);
    if (apart.is_constant()) {
      const bool equal = apart.constant() == 0;
      if (op == Eq || op == Ne) return truth((op == Eq) == equal);
      if (equal) return truth(op == Le || op == Ge);
    }
    const Interval r = range_of_binary(op, t.dtype, a.range(), b.range());
    if (r.is_point()) return truth(r.lo != 0);
    return compare(op, a, b);
  }
  if (op == Gt || op == Ge) {
    Sum negated(d.type());
    if (!negated.add_exactly(d, -1)) return compare(op, a, b);
    d = std::move(negated);
    op = op == Gt ? Lt : Le;
  }
  const Wide r = context_.bounds(d);
  const Interval zero = range_of_binary(op, DType::I64, clamp_to(r, DType::I64), {0, 0});
  if (zero.is_point()) return truth(zero.lo != 0);
  if (has_smallest(d)) return compare(n.op, a, b);

  Below below{d.part(1, [](const Term&) { return true; }),
              -Int128{d.constant()} + (op == Le ? 1 : 0)};
  const bool ordered = op == Lt || op == Le;
  if (ordered) {
    tighten(below);
  } else {
    const int64_t g = below.terms.gcd();
    if (floormod(below.limit, g) != 0) return truth(op == Ne);
    const bool negate = below.terms.terms()[0].coef < 0;
    const int64_t factor = negate ? -g : g;
    below.terms = below.terms.part(factor, [](const Term&) { return true; });
    below.limit = floordiv(below.limit, g) * (negate ? -1 : 1);
  }

  // Positive terms to the left, negative ones and the constant to the right.
  Sum lhs(t), rhs(t);
  bool kept = true;  // the coefficients are numbers of the type
  for (const Term& term : below.terms.terms()) {
    Sum& side = term.coef > 0 ? lhs : rhs;
    const int64_t coef = term.coef > 0 ? term.coef : -term.coef;
    side.add(Term{term.atom, coef, term.range});
    kept = kept && !side.terms().empty() && side.terms().back().coef == coef;
  }
  Int128 limit = below.limit;
  if (ordered) {
    op = Lt;
    if (lhs.is_constant()) {  // -rhs < limit
      std::swap(lhs, rhs);
      op = Ge;
      limit = 1 - limit;
    } else if (!rhs.is_constant() && limit == 1) {
      op = Le;
      limit = 0;
    }
  }
  if (limit < INT64_MIN || limit > INT64_MAX) return compare(n.op, a, b);
  const Wide right = rhs.exact() + Wide{limit, limit};
  if (!kept || !fits(lhs.exact(), t.dtype) || !fits(right, t.dtype)) return compare(n.op, a, b);
  rhs.add_constant(static_cast<int64_t>(limit));
  return compare(op, lhs, rhs);
}

Simplifier::Value Simplifier::visit_not(const Expr& e) {
  const Expr& operand = e.as<UnaryNode>()->a;
  const Value a = visit(operand);
  if (const auto* b = a.e.as<BroadcastNode>()) {
    return {make_broadcast(make_unary(UnaryOp::Not, b->value), e.type().lanes),
            {1 - a.range.hi, 1 - a.range.lo}};
  }
  if (const auto* inner = a.e.as<UnaryNode>()) return visit(inner->a);  // not not
  if (const auto* n = a.e.as<BinaryNode>(); n != nullptr && is_comparison(n->op)) {
    const DType t = n->a.type().dtype;
    const auto opposite = [&]() -> std::optional<BinaryOp> {
      switch (n->op) {
        case Eq: return Ne;
        case Ne: return Eq;
        case Lt: return Ge;
        case Ge: return Lt;
        case Gt: return Le;
        case Le: return Gt;
        default: return std::nullopt;
      }
    }();
    // With NaN, not (a < b) is not a >= b.
    if (is_int(t)) return visit(make_binary(*opposite, n->a, n->b));
    if (n->op == Eq || n->op == Ne) {
      return {make_binary(*opposite, n->a, n->b), {0, 1}};
    }
  }
  return {a.e.same_as(operand) ? e : make_unary(UnaryOp::Not, a.e),
          {1 - a.range.hi, 1 - a.range.lo}};
}

namespace {

// The operands of nested `op`s, left to right; up to a number, since a tree that shares much may
// have any number of them.
void flatten(const Expr& e, BinaryOp op, std::vector<Expr>& out) {
  constexpr size_t kMost = 64;
  const auto* n = e.as<BinaryNode>();
  if (n != nullptr && n->op == op && out.size() < kMost) {
    flatten(n->a, op, out);
    flatten(n->b, op, out);
  } else {
    out.push_back(e);
  }
}

// Folds from the left; the old node if it is that.
Expr chain(const Expr& old, BinaryOp op, const std::vector<Expr>& items) {
  const Expr* rest = &old;
  bool same = true;
  for (size_t i = items.size(); same && i-- > 1;) {
    const auto* n = rest->as<BinaryNode>();
    same = n != nullptr && n->op == op && n->b.same_as(items[i]);
    if (same) rest = &n->a;
  }
  if (same && rest->same_as(items[0])) return old;
  Expr e = items[0];
  for (size_t i = 1; i < items.size(); ++i) e = make_binary(op, std::move(e), items[i]);
  return e;
}

constexpr size_t kMostCompared = 8;  // operands of a chain that are compared pairwise

}  // namespace

// Each operand is rewritten knowing the others: for `and`, that they are true; for `or`, false.
Simplifier::Value Simplifier::visit_logic(const Expr& e) {
  const BinaryOp op = e.as<BinaryNode>()->op;
  const bool is_and = op == And;
  const Type t = e.type();
  std::vector<Expr> items;
  flatten(e, op, items);
  // Both sides are evaluated, so a read must not lose the condition that guards it within one side
  // because the other one says the same.
  bool knows = !t.is_vector() && items.size() <= kMostCompared;
  for (const Expr& i : items) knows = knows && !reads_memory(i);

  std::vector<Expr> kept;
  const auto decides = [&](const Expr& i) { return is_const(i, is_and ? 0 : 1); };
  const Context::Mark mark = context_.mark();
  for (const Expr& i : items) {
    Expr v = visit(i).e;
    if (decides(v)) {
      context_.restore(mark);
      return {make_int(t, is_and ? 0 : 1), {is_and ? 0 : 1, is_and ? 0 : 1}};
    }
    if (is_const_int(v)) continue;
    const bool seen =
        std::any_of(kept.begin(), kept.end(), [&](const Expr& k) { return equal(k, v); });
    if (seen) continue;
    if (knows) context_.assume(v, is_and);
    kept.push_back(std::move(v));
  }
  context_.restore(mark);
  for (size_t i = kept.size(); knows && kept.size() > 1 && i-- > 0;) {
    if (i + 1 == kept.size()) continue;  // the last has seen all others
    for (size_t j = 0; j < kept.size(); ++j) {
      if (j != i) context_.assume(kept[j], is_and);
    }
    Expr v = visit(kept[i]).e;
    context_.restore(mark);
    if (decides(v)) return {make_int(t, is_and ? 0 : 1), {is_and ? 0 : 1, is_and ? 0 : 1}};
    if (is_const_int(v)) {
      kept.erase(kept.begin() + static_cast<ptrdiff_t>(i));
    } else {
      kept[i] = std::move(v);
    }
  }
  if (kept.empty()) return {make_int(t, is_and ? 1 : 0), {is_and ? 1 : 0, is_and ? 1 : 0}};
  Expr result = chain(e, op, kept);
  if (const auto* n = result.as<BinaryNode>(); n != nullptr && t.is_vector()) {
    const auto *a = n->a.as<BroadcastNode>(), *b = n->b.as<BroadcastNode>();
    if (a != nullptr && b != nullptr && n->op == op) {
      result = make_broadcast(make_binary(op, a->value, b->value), t.lanes);
    }
  }
  return {std::move(result), {0, 1}};
}

// Whether a <= b always, or a >= b always (false); both when they are equal, where true is said.
std::optional<bool> Simplifier::is_at_most(const Expr& a, const Expr& b) {
  const Interval r = range_of_binary(Le, a.type().dtype, context_.of(a), context_.of(b));
  if (r.is_point()) return r.lo != 0;
  Sum x = normal_form(a), y = normal_form(b), difference(x.type().with_dtype(DType::I64));
  if (!x.exact_fits() || !y.exact_fits() || !difference.add_exactly(x, 1) ||
      !difference.add_exactly(y, -1)) {
    return std::nullopt;
  }
  const Wide d = context_.bounds(difference);
  if (d.hi <= 0) return true;
  if (d.lo >= 0) return false;
  return std::nullopt;
}

Simplifier::Value Simplifier::visit_extremum(const Expr& e) {
  const auto* n = e.as<BinaryNode>();
  const BinaryOp op = n->op;
  const Value a = visit(n->a), b = visit(n->b);
  const auto *sa = a.e.as<BroadcastNode>(), *sb = b.e.as<BroadcastNode>();
  if (sa != nullptr && sb != nullptr) {
    const Value v = visit(make_binary(op, sa->value, sb->value));
    return {make_broadcast(v.e, e.type().lanes), v.range};
  }
  const Interval range = range_of_binary(op, e.type().dtype, a.range, b.range);
  std::vector<Expr> items;
  flatten(a.e, op, items);
  flatten(b.e, op, items);
  // One constant, which stands last.
  Expr constant;
  std::erase_if(items, [&](const Expr& i) {
    if (!is_const_int(i)) return false;
    constant = constant ? make_binary(op, constant, i) : i;
    return true;
  });
  if (constant) items.push_back(constant);
  if (items.size() <= kMostCompared) {
    // Of two that compare one way always, one goes.
    for (size_t i = 0; i < items.size(); ++i) {
      for (size_t j = i + 1; j < items.size(); ++j) {
        std::optional<bool> first_is_less = is_at_most(items[i], items[j]);
        if (!first_is_less && equal(items[i], items[j])) first_is_less = true;
        if (!first_is_less) continue;
        if (*first_is_less == (op == Min)) {
          items.erase(items.begin() + static_cast<ptrdiff_t>(j--));
        } else {
          items[i] = items[j];
          items.erase(items.begin() + static_cast<ptrdiff_t>(j));
          j = i;
        }
      }
    }
  }
  if (items.size() == 1) return with_context_range(items[0]);
  return {chain(e, op, items), range};
}

}  // namespace espalier
