#pragma once

#include "espalier/ir/stmt.h"

namespace espalier {

// Replaces exp, log, tanh, erf, sigmoid, rsqrt, sin, cos and pow by arithmetic, on scalars and
// vectors alike. Intermediate values become Lets around the statement. f16 and bf16 compute in f32.
//
// Errors in units of the last place of the exact result (measured; f32 against all or every 64th
// argument, f64 against samples):
//             f32   f64
//   exp        1.1   1.1    0 where the result would be subnormal
//   log        1     1
//   tanh       2.5   2.5
//   sigmoid    2.5   2.5    0 where exp(-x) overflows
//   erf        1.5   2
//   rsqrt      1.5   1.5
//   sin, cos   1.5   *      NaN beyond 2^49; f64: absolute error 2^-52
//   pow        1     *      f64: 1 + |y log x| / 8; 0 where an f64 result would be subnormal
// NaN in gives NaN out, except pow(x, 0) = pow(1, y) = 1.
Stmt expand_math(const Stmt& s);

}  // namespace espalier
