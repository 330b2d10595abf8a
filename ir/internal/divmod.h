// Division of linear forms by constants.
#pragma once

#include "espalier/ir/internal/sum.h"

namespace espalier {

// Floor quotient and remainder by a constant `divisor` > 1 of a form that fits exactly (as
// exact_fits leaves it): multiples of the divisor are split off, what cannot reach the next
// multiple is dropped, common factors are cancelled. What is left becomes an atom; `like`, the
// original expression, is used for it where nothing changed. Empty if nothing can be said without
// risking to wrap.
struct DivMod {
  Ranges& ranges;
  const Expr& like;  // a FloorDiv or FloorMod node, or empty
  std::optional<Sum> quotient(const Sum& n, int64_t divisor) const;
  std::optional<Sum> remainder(const Sum& n, int64_t divisor) const;
};

// Joins quotients with their remainders: (x div d)*d + x mod d becomes x, and x - (x div d)*d
// becomes x mod d.
void recombine(Sum& sum, Ranges& ranges);

}  // namespace espalier
