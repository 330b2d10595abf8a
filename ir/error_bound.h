// How far a right implementation may be from the exact result.
#pragma once

#include "espalier/ir/dag.h"

namespace espalier {

// The DAG over f64, with a bound beside each output: its outputs are those of `dag` in order, then
// as many f64 tensors of the same shapes, which bound |computed - value| for any computation of
// `dag` in its own types, with its reductions in any order and with math functions as
// codegen/expand_math.h promises. Inputs of floating-point type become f64, are exact, and stay in
// their order; integers stay as they are and have the bound 0.
//
// First-order propagation: an operation adds the unit roundoff u of its type times its result (a
// few u for math functions) and half the smallest subnormal where it may underflow; a reduction of
// R terms adds u * (16 + 2 sqrt(R)) times the sum of their magnitudes. Discontinuous operations
// (floor, comparisons, casts to integers) accept what lies on either side within the bound. Where
// nothing can be said the bound is infinite: of custom combiners, and of what is made of a value or
// partial sum that may overflow within its bound. It is never NaN, and it does not cover overflow
// of an output itself: whoever compares lets an infinity pass where value + bound reaches the
// type's largest number.
Result<ComputeDag> with_error_bounds(const ComputeDag& dag);

}  // namespace espalier
