// Random element-wise arithmetic.
#pragma once

#include <vector>

#include "espalier/ir/expr.h"
#include "espalier/support/rng.h"

namespace espalier {

// An expression and how large its values get in magnitude, if it is a float one.
struct Operand {
  Expr expr;
  double magnitude = 0;
};

// How large floats of the type may get: with `exact`, so that integers of that magnitude and their
// sums are exact; else, so that nothing overflows.
double limit_of(DType t, bool exact);

// An expression of type `t` over all of the operands (which have that type) and some constants.
// With `exact`, floats are combined only in ways that give exact integers for integers. Operands
// whose combination would grow past limit_of are clamped first.
Operand random_expr(Rng& rng, DType t, std::vector<Operand> operands, bool exact);

// min(max(e, -bound), bound) of a float.
Operand clamp(const Operand& e, double bound);

}  // namespace espalier
