#include "espalier/ir/internal/sum.h"

#include <numeric>

#include "espalier/ir/scalar_ops.h"

namespace espalier {
namespace {

int64_t times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

bool same(const Expr& a, const Expr& b) { return a.get() == b.get() || equal(a, b); }

}  // namespace

int64_t Sum::wrap(uint64_t v) const {
  const int unused = 64 - bits_of(type_.dtype);
  return static_cast<int64_t>(v << unused) >> unused;
}

void Sum::add(Term term) {
  term.coef = wrap(static_cast<uint64_t>(term.coef));
  if (term.coef == 0 && !keeps_zeros_) return;
  for (size_t i = 0; i < terms_.size(); ++i) {
    if (!same(terms_[i].atom, term.atom)) continue;
    terms_[i].coef = wrap(static_cast<uint64_t>(terms_[i].coef) + static_cast<uint64_t>(term.coef));
    if (terms_[i].coef == 0 && !keeps_zeros_) erase(i);
    return;
  }
  terms_.push_back(std::move(term));
}

void Sum::compact() {
  std::erase_if(terms_, [](const Term& t) { return t.coef == 0; });
  keeps_zeros_ = false;
}

void Sum::add(const Sum& other, int64_t factor) {
  for (const Term& t : other.terms_) add(Term{t.atom, times(t.coef, factor), t.range});
  add_constant(times(other.constant_, factor));
}

bool Sum::add_exactly(const Sum& other, int64_t factor) {
  const auto coef_of = [&](const Expr& atom) {
    for (const Term& t : terms_) {
      if (same(t.atom, atom)) return t.coef;
    }
    return int64_t{0};
  };
  for (const Term& t : other.terms_) {
    const Int128 want = coef_of(t.atom) + Int128{t.coef} * factor;
    add(Term{t.atom, times(t.coef, factor), t.range});
    if (coef_of(t.atom) != want) return false;
  }
  const Int128 want = constant_ + Int128{other.constant_} * factor;
  add_constant(times(other.constant_, factor));
  return constant_ == want;
}

Wide Sum::exact_terms() const {
  Wide r;
  for (const Term& t : terms_) r = r + Wide::of(t.range) * t.coef;
  return r;
}

Wide Sum::exact() const { return exact_terms() + Wide{constant_, constant_}; }

namespace {

// The multiple of 2^bits by which the exact value must move to be the value of the type, if there
// is one for all of it.
std::optional<Int128> shift_into(Wide r, DType t) {
  if (fits(r, t)) return Int128{0};
  if (!r.bounded()) return std::nullopt;
  const Int128 period = Int128{1} << bits_of(t);
  const Int128 start = type_range(t).lo;
  const Int128 shift = -period * floordiv(r.lo - start, period);
  if (!fits(r + Wide{shift, shift}, t)) return std::nullopt;
  return shift;
}

}  // namespace

bool Sum::exact_fits() {
  const std::optional<Int128> shift = shift_into(exact(), type_.dtype);
  if (!shift) return false;
  const Int128 moved = constant_ + *shift;
  if (moved < INT64_MIN || moved > INT64_MAX) return false;
  constant_ = static_cast<int64_t>(moved);
  return true;
}

Interval Sum::range() const {
  if (is_constant() && type_.dtype == DType::U64) return {constant_, constant_};
  const Wide r = exact();
  const std::optional<Int128> shift = shift_into(r, type_.dtype);
  return shift ? clamp_to(r + Wide{*shift, *shift}, type_.dtype) : type_range(type_.dtype);
}

int64_t Sum::gcd() const {
  uint64_t g = 0;
  for (const Term& t : terms_) {
    const uint64_t c = static_cast<uint64_t>(t.coef);
    g = std::gcd(g, t.coef < 0 ? 0 - c : c);
  }
  return g > INT64_MAX ? 1 : static_cast<int64_t>(g);
}

bool Sum::has_vector_part() const {
  for (const Term& t : terms_) {
    if (t.is_lane() || t.atom.type().is_vector()) return true;
  }
  return false;
}

namespace {

// The order in which terms are written: as they stand, but the first positive one before all if
// the first is negative.
size_t first_written(const std::vector<Term>& terms) {
  for (size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].coef > 0) return i;
  }
  return terms.size();
}

bool can_subtract(int64_t c, DType t) { return c < 0 && c != INT64_MIN >> (64 - bits_of(t)); }

bool is_product(const Expr& e, const Expr& atom, int64_t coef) {
  if (coef == 1) return e.same_as(atom);
  const auto* n = e.as<BinaryNode>();
  return n != nullptr && n->op == BinaryOp::Mul && n->a.same_as(atom) &&
         n->b.kind() == ExprKind::Const && n->b.as<ConstNode>()->i == coef;
}

}  // namespace

// Walks the spine of a left-leaning sum from its last operand to its first.
bool Sum::is_built_as(const Expr& e) const {
  const DType t = type_.dtype;
  const size_t n = terms_.size(), first = first_written(terms_);
  const auto value_of = [&](int64_t c) { return static_cast<int64_t>(bits_from_int(t, c)); };
  if (n == 0) return e.kind() == ExprKind::Const && e.as<ConstNode>()->i == value_of(constant_);
  const Expr* rest = &e;
  // Whether the last operand is +/- coef * atom (no atom: the constant); moves on to the others.
  const auto ends_with = [&](const Expr& atom, int64_t coef) {
    const auto* node = rest->as<BinaryNode>();
    const bool minus = can_subtract(coef, t);
    if (node == nullptr || node->op != (minus ? BinaryOp::Sub : BinaryOp::Add)) return false;
    const int64_t c = minus ? -coef : coef;
    const bool ok =
        atom ? is_product(node->b, atom, value_of(c))
             : node->b.kind() == ExprKind::Const && node->b.as<ConstNode>()->i == value_of(c);
    rest = &node->a;
    return ok;
  };
  const int64_t constant = wrap(static_cast<uint64_t>(constant_));
  const bool constant_first = first == n && constant > 0;
  if (constant != 0 && !constant_first && !ends_with({}, constant)) return false;
  const size_t head = constant_first ? n : first == n ? 0 : first;
  for (size_t i = n; i-- > 0;) {
    if (i != head && !ends_with(terms_[i].atom, terms_[i].coef)) return false;
  }
  if (constant_first) {
    return rest->kind() == ExprKind::Const && rest->as<ConstNode>()->i == value_of(constant);
  }
  return is_product(*rest, terms_[head].atom, value_of(terms_[head].coef));
}

namespace {

// e + coef * atom, where an empty e is nothing and an empty atom is the number 1.
Expr append(Expr e, const Expr& atom, int64_t coef, Type type) {
  const bool minus = e && can_subtract(coef, type.dtype);
  const int64_t c = minus ? -coef : coef;
  Expr product = !atom    ? make_int(type, c)
                 : c == 1 ? atom
                          : make_binary(BinaryOp::Mul, atom, make_int(type, c));
  if (!e) return product;
  return make_binary(minus ? BinaryOp::Sub : BinaryOp::Add, std::move(e), std::move(product));
}

}  // namespace

Expr Sum::build_scalar(const Expr& like) const {
  if (like && is_built_as(like)) return like;
  const Type t = type_.with_lanes(1);
  const size_t n = terms_.size(), first = first_written(terms_);
  const int64_t constant = wrap(static_cast<uint64_t>(constant_));
  Expr e;
  if (first < n) e = append({}, terms_[first].atom, terms_[first].coef, t);
  if (first == n && constant > 0) e = make_int(t, constant);
  for (size_t i = 0; i < n; ++i) {
    if (i != first) e = append(std::move(e), terms_[i].atom, terms_[i].coef, t);
  }
  if (n == 0) return make_int(t, constant);
  if (constant != 0 && !(first == n && constant > 0)) e = append(std::move(e), {}, constant, t);
  return e;
}

// Terms that are vectors first, then the rest as one ramp, broadcast or constant.
Expr Sum::build_vector() const {
  Sum scalars(type_.with_lanes(1)), vectors(type_);
  int64_t stride = 0;
  for (const Term& t : terms_) {
    if (t.is_lane()) {
      stride = t.coef;
    } else {
      (t.atom.type().is_vector() ? vectors : scalars).terms_.push_back(t);
    }
  }
  scalars.constant_ = wrap(static_cast<uint64_t>(constant_));
  Expr e;
  const size_t first = first_written(vectors.terms_);
  if (first < vectors.terms_.size()) {
    e = append({}, vectors.terms_[first].atom, vectors.terms_[first].coef, type_);
  }
  for (size_t i = 0; i < vectors.terms_.size(); ++i) {
    if (i == first) continue;
    e = append(std::move(e), vectors.terms_[i].atom, vectors.terms_[i].coef, type_);
  }
  if (e && stride == 0 && scalars.is_constant()) {
    return scalars.constant_ == 0 ? e : append(std::move(e), {}, scalars.constant_, type_);
  }
  const Expr base = scalars.build_scalar({});
  const Expr rest =
      stride != 0 ? make_ramp(base, stride, type_.lanes) : make_broadcast(base, type_.lanes);
  return e ? make_binary(BinaryOp::Add, std::move(e), rest) : rest;
}

Expr Sum::build(const Expr& like) const {
  if (!type_.is_vector()) return build_scalar(like);
  Expr e = has_vector_part() ? build_vector() : make_broadcast(build_scalar({}), type_.lanes);
  return like && equal(e, like) ? like : e;
}

Expr Sum::build_narrow(const Expr& like) const {
  if (!type_.is_vector() || has_vector_part()) return build(like);
  return build_scalar(like);
}

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
  const BinaryNode* node = nullptr;  // x op divisor, divisor a constant > 0
  int64_t divisor = 0;
};
DivAtom as_division(const Expr& e, BinaryOp op) {
  DivAtom d;
  const auto* n = e ? e.as<BinaryNode>() : nullptr;
  if (n != nullptr && n->op == op && is_const_int(n->b, &d.divisor) && d.divisor > 0) d.node = n;
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
  if (div.divisor == mod.divisor && same(div.node->a, mod.node->a)) {
    return Joined{mod.node->a, mod.divisor};
  }
  // (x div (a*b)) and ((x div a) mod b).
  const DivAtom inner = as_division(mod.node->a, BinaryOp::FloorDiv);
  if (inner.node != nullptr && div.divisor % mod.divisor == 0 &&
      div.divisor / mod.divisor == inner.divisor && same(div.node->a, inner.node->a)) {
    return Joined{mod.node->a, mod.divisor};
  }
  // ((x mod a) div d) and (x mod d), d a divisor of a.
  const DivAtom outer = as_division(div.node->a, BinaryOp::FloorMod);
  if (outer.node != nullptr && div.divisor == mod.divisor && outer.divisor % mod.divisor == 0 &&
      same(outer.node->a, mod.node->a)) {
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

}  // namespace

void recombine(Sum& sum, Ranges& ranges) {
  while (join_one(sum, ranges)) {
  }
}

void add_normal(Sum& sum, const Expr& e, int64_t factor, Ranges& ranges) {
  switch (e.kind()) {
    case ExprKind::Const: sum.add_constant(times(factor, e.as<ConstNode>()->i)); return;
    case ExprKind::Broadcast: add_normal(sum, e.as<BroadcastNode>()->value, factor, ranges); return;
    case ExprKind::Ramp: {
      const auto* n = e.as<RampNode>();
      add_normal(sum, n->base, factor, ranges);
      sum.add_lane(times(factor, n->stride));
      return;
    }
    case ExprKind::Binary: {
      const auto* n = e.as<BinaryNode>();
      int64_t c;
      if (n->op == BinaryOp::Add || n->op == BinaryOp::Sub) {
        add_normal(sum, n->a, factor, ranges);
        add_normal(sum, n->b, n->op == BinaryOp::Add ? factor : times(factor, -1), ranges);
        return;
      }
      if (n->op == BinaryOp::Mul && is_const_int(n->b, &c)) {
        add_normal(sum, n->a, times(factor, c), ranges);
        return;
      }
      break;
    }
    default: break;
  }
  sum.add(Term{e, factor, ranges.of(e)});
}

}  // namespace espalier
