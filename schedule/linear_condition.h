// Linear conditions: `sum of coef * atom + offset >= 0` over index expressions.
#pragma once

#include <optional>
#include <vector>

#include "espalier/ir/expr.h"

namespace espalier {

// An atom is a variable or an index expression that is not linear (a division, a modulo, a min).
struct LinearCondition {
  std::vector<std::pair<Expr, int64_t>> terms;
  int64_t offset = 0;

  int64_t coef_of(const Expr& var) const;
  // The sum without `var` (empty: none left out), as an expression.
  Expr rest(const Expr& var) const;
};

// For <, <=, > and >= between scalar i64 expressions; nothing for others.
std::optional<LinearCondition> as_linear_condition(const Expr& cond);

// The operands of a conjunction, in order.
std::vector<Expr> conjuncts(const Expr& cond);
Expr conjunction(const std::vector<Expr>& conds);  // empty for none

}  // namespace espalier
