// What every operation means on scalars: the one place that folding of constants, the evaluator of
// definitions and the interpreter share.
//
// Beyond ir/type.h:
//  * f16 and bf16 compute each operation in f32 and round the result once to the type;
//  * exp, log, tanh, erf, sigmoid, rsqrt, sin, cos and pow compute in f64 and round once; an exp
//    whose result would be subnormal in f32 (in f64 for f64) is 0;
//  * an integer converts to floating point with one rounding, to bf16 as well.
#pragma once

#include "espalier/ir/expr.h"

namespace espalier {

// A scalar of any type in 64 bits. Integers and bool: the value, sign- or zero-extended (as in
// ConstNode). Floats: the bits of their format, zero-extended.
using ScalarBits = uint64_t;

// An operation on lanes; `out` may be an operand. Null where the operation is not defined on the
// type. The type is that of the operands, which comparisons turn into bool.
using UnaryLanes = void (*)(const ScalarBits* a, ScalarBits* out, int lanes);
using BinaryLanes = void (*)(const ScalarBits* a, const ScalarBits* b, ScalarBits* out, int lanes);
using FmaLanes = void (*)(const ScalarBits* a, const ScalarBits* b, const ScalarBits* c,
                          ScalarBits* out, int lanes);
UnaryLanes unary_lanes(UnaryOp op, DType t);
BinaryLanes binary_lanes(BinaryOp op, DType t);
FmaLanes fma_lanes(DType t);
UnaryLanes cast_lanes(DType from, DType to);
inline bool is_defined(UnaryOp op, DType t) { return unary_lanes(op, t) != nullptr; }
inline bool is_defined(BinaryOp op, DType t) { return binary_lanes(op, t) != nullptr; }

// The same on one scalar. The operation must be defined.
ScalarBits apply(UnaryOp op, DType t, ScalarBits a);
ScalarBits apply(BinaryOp op, DType t, ScalarBits a, ScalarBits b);
ScalarBits apply_fma(DType t, ScalarBits a, ScalarBits b, ScalarBits c);
ScalarBits apply_cast(DType from, DType to, ScalarBits a);
ScalarBits apply_reinterpret(DType from, DType to, ScalarBits a);

// Conversions from and to numbers of the host. To an integer type: i64 and u64 wrap, f64
// saturates as casts do. to_int of a float truncates and saturates; to_double of a 64-bit integer
// rounds.
ScalarBits bits_from_int(DType t, int64_t value);
ScalarBits bits_from_double(DType t, double value);
int64_t int_from_bits(DType t, ScalarBits bits);
double double_from_bits(DType t, ScalarBits bits);
// Magnitudes from here on become infinite in the float type `t`; infinite for f64.
double overflow_threshold(DType t);

// Memory of the host, without any demand on alignment.
ScalarBits load_scalar(DType t, const void* from);
void store_scalar(DType t, void* to, ScalarBits bits);

}  // namespace espalier
