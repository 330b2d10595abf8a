#include "espalier/ir/internal/divmod.h"

#include <algorithm>
#include <numeric>

namespace espalier {
namespace {

// A divisor g > 1 of `divisor` such that the terms that are no multiples of g, with the constant,
// stay between two neighbouring multiples of g: [low, low + g). Those may then be dropped before a
// division by g. The greatest such g.
struct Cut {
  int64_t g = 1;
  Int128 low = 0;
};
Cut find_cut(const Sum& n, int64_t divisor) {
  Cut best;
  for (const Term& candidate : n.terms()) {
    const int64_t g = std::gcd(candidate.coef, divisor);
    if (g <= best.g) continue;
    Wide small{n.constant(), n.constant()};
    for (const Term& t : n.terms()) {
      if (t.coef % g != 0) small = small + Wide::of(t.range) * t.coef;
    }
    if (!small.bounded()) continue;
    const Int128 low = floordiv(small.lo, g) * g;
    if (small.hi < low + g) best = {g, low};
  }
  return best;
}

// `n` with its terms, and constant, of at least the divisor's size reduced modulo it; what was
// taken out, divided by it, is added to `quotient`. Empty if the result does not keep such numbers,
// or does not fit.
std::optional<Sum> reduce(const Sum& n, int64_t divisor, Sum* quotient) {
  Sum rest(n.type());
  bool kept = true;
  for (const Term& t : n.terms()) {
    const Int128 q = t.coef > -divisor && t.coef < divisor ? 0 : floordiv(Int128{t.coef}, divisor);
    if (q != 0 && quotient != nullptr) {
      quotient->add(Term{t.atom, static_cast<int64_t>(q), t.range});
    }
    const int64_t r = static_cast<int64_t>(t.coef - q * divisor);
    if (r == 0) continue;
    rest.add(Term{t.atom, r, t.range});
    kept = kept && !rest.terms().empty() && rest.terms().back().coef == r;
  }
  const Int128 q = floordiv(Int128{n.constant()}, divisor);
  const int64_t r = static_cast<int64_t>(n.constant() - q * divisor);
  if (quotient != nullptr) quotient->add_constant(static_cast<int64_t>(q));
  rest.add_constant(r);
  if (!kept || rest.constant() != r || !fits(rest.exact(), n.type().dtype)) return std::nullopt;
  return rest;
}

struct DivAtom {
  const BinaryNode* node = nullptr;  // x op divisor, divisor a constant > 1
  int64_t divisor = 0;
};
DivAtom as_division(const Expr& e, BinaryOp op) {
  DivAtom d;
  const auto* n = e ? e.as<BinaryNode>() : nullptr;
  if (n != nullptr && n->op == op && is_const_int(n->b, &d.divisor) && d.divisor > 1) d.node = n;
  return d;
}

Sum normal_form(const Expr& e, Type type, Ranges& ranges) {
  Sum s(type);
  add_normal(s, e, 1, ranges);
  return s;
}

Expr division(BinaryOp op, const Sum& n, int64_t divisor, const Expr& like) {
  const BinaryNode* old = as_division(like, op).node;
  Expr a = n.build_narrow(old != nullptr ? old->a : Expr());
  if (old != nullptr && a.same_as(old->a) && is_const(old->b, divisor)) return like;
  const Type t = a.type();
  return make_binary(op, std::move(a), make_int(t, divisor));
}

}  // namespace

std::optional<Sum> DivMod::quotient(const Sum& n, int64_t divisor) const {
  const DType t = n.type().dtype;
  Sum q(n.type());
  std::optional<Sum> r = reduce(n, divisor, &q);
  while (r) {
    const Wide range = r->exact();
    const Int128 low = floordiv(range.lo, divisor);
    if (floordiv(range.hi, divisor) == low) {
      q.add_constant(static_cast<int64_t>(low));
      return q;
    }
    // r = g * s + small, small in [low, low + g): r div d = (s + low / g) div (d / g).
    const Cut cut = find_cut(*r, divisor);
    if (cut.g == 1) break;
    Sum s = r->part(cut.g, [&](const Term& term) { return term.coef % cut.g == 0; });
    s.add_constant(static_cast<int64_t>(cut.low / cut.g));
    divisor /= cut.g;
    if (divisor == 1) {
      q.add(s);
      return q;
    }
    r = reduce(s, divisor, &q);
  }
  if (!r) return std::nullopt;
  // (x div a) div d = x div (a * d), for a sole atom.
  if (r->terms().size() == 1 && r->terms()[0].coef == 1 && r->constant() == 0) {
    const DivAtom inner = as_division(r->terms()[0].atom, BinaryOp::FloorDiv);
    int64_t product;
    if (inner.node != nullptr && !__builtin_mul_overflow(inner.divisor, divisor, &product) &&
        fits({product, product}, t)) {
      const Type at = inner.node->type;
      q.add(Term{make_binary(BinaryOp::FloorDiv, inner.node->a, make_int(at, product)), 1,
                 range_of_binary(BinaryOp::FloorDiv, t, r->terms()[0].range, {divisor, divisor})});
      return q;
    }
  }
  const Interval range = range_of_binary(BinaryOp::FloorDiv, t, r->range(), {divisor, divisor});
  q.add(Term{division(BinaryOp::FloorDiv, *r, divisor, like), 1, range});
  return q;
}

namespace {

// k * (x mod a) = k * x modulo d, where d divides k * a: replaces one such term of `r`.
bool unwrap_modulo(Sum& r, int64_t divisor, Ranges& ranges) {
  for (size_t i = 0; i < r.terms().size(); ++i) {
    const Term& term = r.terms()[i];
    const DivAtom inner = as_division(term.atom, BinaryOp::FloorMod);
    if (inner.node == nullptr || Int128{inner.divisor} * term.coef % divisor != 0) continue;
    const Sum x = normal_form(inner.node->a, r.type(), ranges);
    Sum sum = r;
    sum.erase(i);
    if (!fits(x.exact(), r.type().dtype) || !sum.add_exactly(x, term.coef)) continue;
    std::optional<Sum> reduced = reduce(sum, divisor, nullptr);
    if (!reduced) continue;
    r = *std::move(reduced);
    return true;
  }
  return false;
}

}  // namespace

std::optional<Sum> DivMod::remainder(const Sum& n, int64_t divisor) const {
  const DType t = n.type().dtype;
  // The result is factor * (r mod divisor) + tail.
  std::optional<Sum> r = reduce(n, divisor, nullptr);
  int64_t factor = 1;
  Sum tail(n.type());
  while (r && divisor > 1) {
    const Wide range = r->exact();
    const Int128 low = floordiv(range.lo, divisor);
    if (floordiv(range.hi, divisor) == low) {
      Sum result(n.type());
      result.add(*r, factor);
      result.add_constant(static_cast<int64_t>(-low * divisor * factor));
      result.add(tail);
      return result;
    }
    if (unwrap_modulo(*r, divisor, ranges)) continue;
    // r = g * s + small: r mod d = g * ((s + low / g) mod (d / g)) + (small - low).
    const Cut cut = find_cut(*r, divisor);
    if (cut.g == 1) break;
    Sum s = r->part(cut.g, [&](const Term& term) { return term.coef % cut.g == 0; });
    s.add_constant(static_cast<int64_t>(cut.low / cut.g));
    Sum small = r->part(1, [&](const Term& term) { return term.coef % cut.g != 0; });
    small.add_constant(static_cast<int64_t>(r->constant() - cut.low));
    Sum longer(n.type());
    longer.add(small, factor);
    longer.add(tail);
    tail = std::move(longer);
    factor *= cut.g;
    divisor /= cut.g;
    r = reduce(s, divisor, nullptr);
  }
  if (!r) return std::nullopt;
  if (divisor == 1) return tail;
  const Interval range = range_of_binary(BinaryOp::FloorMod, t, r->range(), {divisor, divisor});
  Sum result(n.type());
  result.add(Term{division(BinaryOp::FloorMod, *r, divisor, like), factor, range});
  result.add(tail);
  return result;
}

namespace {

// What quotient * d + remainder * 1 is, if the two belong together and d is the quotient's scale.
struct Joined {
  Expr whole;
  int64_t scale = 0;
};
std::optional<Joined> join(const DivAtom& div, const DivAtom& mod) {
  // (x div d) and (x mod d).
  if (div.divisor == mod.divisor && same_atom(div.node->a, mod.node->a)) {
    return Joined{mod.node->a, mod.divisor};
  }
  // (x div (a*b)) and ((x div a) mod b).
  const DivAtom inner = as_division(mod.node->a, BinaryOp::FloorDiv);
  if (inner.node != nullptr && div.divisor % mod.divisor == 0 &&
      div.divisor / mod.divisor == inner.divisor && same_atom(div.node->a, inner.node->a)) {
    return Joined{mod.node->a, mod.divisor};
  }
  // ((x mod a) div d) and (x mod d), d a divisor of a.
  const DivAtom outer = as_division(div.node->a, BinaryOp::FloorMod);
  if (outer.node != nullptr && div.divisor == mod.divisor && outer.divisor % mod.divisor == 0 &&
      same_atom(outer.node->a, mod.node->a)) {
    return Joined{div.node->a, mod.divisor};
  }
  return std::nullopt;
}

bool join_one(Sum& sum, Ranges& ranges) {
  for (size_t i = 0; i < sum.terms().size(); ++i) {
    const DivAtom div = as_division(sum.terms()[i].atom, BinaryOp::FloorDiv);
    if (div.node == nullptr) continue;
    for (size_t j = 0; j < sum.terms().size(); ++j) {
      const DivAtom mod = as_division(sum.terms()[j].atom, BinaryOp::FloorMod);
      if (mod.node == nullptr) continue;
      const std::optional<Joined> joined = join(div, mod);
      const int64_t coef = sum.terms()[j].coef;
      if (!joined || Int128{coef} * joined->scale != sum.terms()[i].coef) continue;
      Sum result(sum.type());
      for (size_t k = 0; k < sum.terms().size(); ++k) {
        if (k == std::min(i, j)) result.add(normal_form(joined->whole, sum.type(), ranges), coef);
        if (k != i && k != j) result.add(sum.terms()[k]);
      }
      result.add_constant(sum.constant());
      sum = std::move(result);
      return true;
    }
  }
  return false;
}

// c*x - c*d*(x div d), with other terms or not, is c*(x mod d).
bool split_one(Sum& sum, Ranges& ranges) {
  for (const Term& quotient : sum.terms()) {
    const DivAtom div = as_division(quotient.atom, BinaryOp::FloorDiv);
    if (div.node == nullptr || quotient.coef % div.divisor != 0) continue;
    const int64_t c = -(quotient.coef / div.divisor);
    const Sum x = normal_form(div.node->a, sum.type(), ranges);
    const bool all_there =
        !x.is_constant() && std::all_of(x.terms().begin(), x.terms().end(), [&](const Term& t) {
          return std::any_of(sum.terms().begin(), sum.terms().end(), [&](const Term& s) {
            return Int128{t.coef} * c == s.coef && same_atom(s.atom, t.atom);
          });
        });
    if (!all_there) continue;
    const Expr modulo = make_binary(BinaryOp::FloorMod, div.node->a, div.node->b);
    const Interval range = range_of_binary(BinaryOp::FloorMod, sum.type().dtype, x.range(),
                                           {div.divisor, div.divisor});
    Sum whole(sum.type());
    whole.add(x, c);
    whole.add(Term{quotient.atom, quotient.coef, quotient.range});
    Sum result(sum.type());
    for (const Term& t : sum.terms()) {
      const bool goes = std::any_of(whole.terms().begin(), whole.terms().end(),
                                    [&](const Term& w) { return same_atom(w.atom, t.atom); });
      if (!goes) {
        result.add(t);
      } else if (same_atom(t.atom, x.terms()[0].atom)) {
        result.add(Term{modulo, c, range});
      }
    }
    result.add_constant(sum.constant());
    result.add_constant(wrapping_mul(x.constant(), -c));
    sum = std::move(result);
    return true;
  }
  return false;
}

}  // namespace

void recombine(Sum& sum, Ranges& ranges) {
  while (join_one(sum, ranges) || split_one(sum, ranges)) {
  }
}

}  // namespace espalier
