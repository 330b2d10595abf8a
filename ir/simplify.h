// Simplification of index arithmetic and conditions, exact at the ends of every type.
#pragma once

#include <optional>
#include <unordered_map>

#include "espalier/ir/stmt.h"

namespace espalier {

// Inclusive bounds of an integer expression. Always sound: when the arithmetic could wrap, the
// bounds are those of the type.
struct Interval {
  int64_t lo = INT64_MIN, hi = INT64_MAX;
  bool is_point() const { return lo == hi; }
};

// What is known about variables. Copies share nothing; loops push and pop by set and erase.
class Bounds {
 public:
  void set(const Var& v, Interval range) { ranges_[v.get()] = range; }
  void erase(const Var& v) { ranges_.erase(v.get()); }
  Interval of(const Expr& e) const;  // integer and bool expressions; bool within [0, 1]
  const Interval* find(const ExprNode* v) const {
    auto it = ranges_.find(v);
    return it == ranges_.end() ? nullptr : &it->second;
  }

 private:
  std::unordered_map<const ExprNode*, Interval> ranges_;
};

// An equal expression in a normal form: sums collected by term, constants last, (s*a + c) div s and
// mod s reduced where bounds allow, comparisons decided by intervals, selects with a known or equal
// sides removed. Idempotent, and the same node back when there is nothing to do. Floating-point
// arithmetic is left alone except for folding of constants.
Expr simplify(const Expr& e, const Bounds& bounds = {});

// Simplifies all expressions of a statement under the ranges of its loops; drops dead branches,
// empty loops and loops of one iteration; inside an If, the condition itself is known.
Stmt simplify(const Stmt& s, const Bounds& bounds = {});

// True only if `cond` is proven. (Not proven is not refuted.)
bool prove(const Expr& cond, const Bounds& bounds = {});

// e as sum of coef * var + offset over scalar i64 Vars, if it is one and does not wrap under
// `bounds`. Terms in order of first occurrence.
struct AffineForm {
  std::vector<std::pair<Var, int64_t>> terms;
  int64_t offset = 0;
};
std::optional<AffineForm> as_affine(const Expr& e, const Bounds& bounds = {});

}  // namespace espalier
