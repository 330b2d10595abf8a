#include "espalier/ir/internal/sum.h"

#include <numeric>

#include "espalier/ir/scalar_ops.h"

namespace espalier {
int64_t Sum::wrap(uint64_t v) const {
  const int unused = 64 - bits_of(type_.dtype);
  return static_cast<int64_t>(v << unused) >> unused;
}

void Sum::add(Term term) {
  term.coef = wrap(static_cast<uint64_t>(term.coef));
  if (term.coef == 0 && !keeps_zeros_) return;
  for (size_t i = 0; i < terms_.size(); ++i) {
    if (!same_atom(terms_[i].atom, term.atom)) continue;
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
  for (const Term& t : other.terms_) add(Term{t.atom, wrapping_mul(t.coef, factor), t.range});
  add_constant(wrapping_mul(other.constant_, factor));
}

bool Sum::add_exactly(const Sum& other, int64_t factor) {
  const auto coef_of = [&](const Expr& atom) {
    for (const Term& t : terms_) {
      if (same_atom(t.atom, atom)) return t.coef;
    }
    return int64_t{0};
  };
  for (const Term& t : other.terms_) {
    const Int128 want = coef_of(t.atom) + Int128{t.coef} * factor;
    add(Term{t.atom, wrapping_mul(t.coef, factor), t.range});
    if (coef_of(t.atom) != want) return false;
  }
  const Int128 want = constant_ + Int128{other.constant_} * factor;
  add_constant(wrapping_mul(other.constant_, factor));
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

void add_normal(Sum& sum, const Expr& e, int64_t factor, Ranges& ranges) {
  switch (e.kind()) {
    case ExprKind::Const: sum.add_constant(wrapping_mul(factor, e.as<ConstNode>()->i)); return;
    case ExprKind::Broadcast: add_normal(sum, e.as<BroadcastNode>()->value, factor, ranges); return;
    case ExprKind::Ramp: {
      const auto* n = e.as<RampNode>();
      add_normal(sum, n->base, factor, ranges);
      sum.add_lane(wrapping_mul(factor, n->stride));
      return;
    }
    case ExprKind::Binary: {
      const auto* n = e.as<BinaryNode>();
      int64_t c;
      if (n->op == BinaryOp::Add || n->op == BinaryOp::Sub) {
        add_normal(sum, n->a, factor, ranges);
        add_normal(sum, n->b, n->op == BinaryOp::Add ? factor : wrapping_mul(factor, -1), ranges);
        return;
      }
      if (n->op == BinaryOp::Mul && is_const_int(n->b, &c)) {
        add_normal(sum, n->a, wrapping_mul(factor, c), ranges);
        return;
      }
      break;
    }
    default: break;
  }
  sum.add(Term{e, factor, ranges.of(e)});
}

}  // namespace espalier
