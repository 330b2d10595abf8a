// Integer expressions as linear forms: sum of coefficient * atom + constant.
//
// Integers are a ring modulo 2^bits, so collecting and cancelling terms is right whatever wraps.
// Only what divides or compares needs to know that a form does not wrap: its exact value, the sum
// in unbounded arithmetic, lies within the type (`exact_fits`).
//
// Vectors are forms too: a scalar atom stands for its broadcast, and the atom "lane" for the number
// of the lane, so that a ramp is base + stride * lane.
#pragma once

#include <optional>

#include "espalier/ir/internal/interval.h"

namespace espalier {

// Modulo 2^64.
inline int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

struct Term {
  Expr atom;  // of the sum's dtype, scalar or with the sum's lanes; empty: the number of the lane
  int64_t coef = 1;
  Interval range;  // of the atom
  bool is_lane() const { return !atom; }
};

// Bounds of integer expressions in normal form, from whoever knows them.
class Ranges {
 public:
  virtual Interval of(const Expr& e) = 0;

 protected:
  ~Ranges() = default;
};

inline bool same_atom(const Expr& a, const Expr& b) { return a.get() == b.get() || equal(a, b); }

class Sum {
 public:
  explicit Sum(Type type) : type_(type) {}
  // A sum that keeps the places of terms that cancel until `compact`: the order of its terms then
  // depends only on where atoms first occurred, not on how the parts were grouped.
  static Sum collecting(Type type) {
    Sum s(type);
    s.keeps_zeros_ = true;
    return s;
  }
  void compact();

  Type type() const { return type_; }
  const std::vector<Term>& terms() const { return terms_; }  // no coefficient is 0
  int64_t constant() const { return constant_; }
  bool is_constant() const { return terms_.empty(); }

  // Adding merges equal atoms. Coefficients are kept modulo 2^bits, nearest to 0.
  void add_constant(int64_t c) { constant_ = wrap(constant_ + static_cast<uint64_t>(c)); }
  void add_lane(int64_t coef) { add(Term{{}, coef, {0, type_.lanes - 1}}); }
  void add(Term term);
  void add(const Sum& other, int64_t factor = 1);
  // False, and the sum is of no use any more, if coefficients had to wrap.
  bool add_exactly(const Sum& other, int64_t factor);
  void erase(size_t i) { terms_.erase(terms_.begin() + static_cast<ptrdiff_t>(i)); }

  // The sum of the terms that satisfy `pred`, each coefficient divided by `divisor` (exactly).
  template <class Pred>
  Sum part(int64_t divisor, Pred pred) const {
    Sum s(type_);
    for (const Term& t : terms_) {
      if (pred(t)) s.add(Term{t.atom, t.coef / divisor, t.range});
    }
    return s;
  }

  // In unbounded arithmetic.
  Wide exact() const;
  Wide exact_terms() const;  // without the constant
  // The exact value is the value. Where a constant multiple of 2^bits away it would be (200 of u8
  // is kept as -56), the constant is changed first, beyond the range of the type.
  bool exact_fits();
  // Bounds of the value, whether it wraps or not.
  Interval range() const;
  // Greatest common divisor of the coefficients; 0 for a constant.
  int64_t gcd() const;

  bool has_vector_part() const;  // a lane, or an atom that is a vector

  // The form as an expression of the sum's type: positive terms first, the constant last. `like` is
  // returned if that is what it is already.
  Expr build(const Expr& like = {}) const;
  // The same, but a scalar if there is no vector part.
  Expr build_narrow(const Expr& like = {}) const;

 private:
  int64_t wrap(uint64_t v) const;
  bool is_built_as(const Expr& e) const;
  Expr build_scalar(const Expr& like) const;
  Expr build_vector() const;

  Type type_;
  bool keeps_zeros_ = false;
  std::vector<Term> terms_;
  int64_t constant_ = 0;
};

// Adds factor * e, where `e` is in normal form.
void add_normal(Sum& sum, const Expr& e, int64_t factor, Ranges& ranges);

}  // namespace espalier
