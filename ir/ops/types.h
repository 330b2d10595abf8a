// In which types operators compute: operands are widened when they are read, sums are kept in the
// accumulator's type, results are narrowed once, at the end.
#pragma once

#include "espalier/ir/ops/op_def.h"

namespace espalier::ops {

// The key `acc`, for operators that add up.
KeyDef accumulator_key();

// What operations on values of the type are done in: f32 for f16 and bf16, else the type itself.
DType compute_type(DType type);

// The type that terms are added up in: `acc` where it is given, else f32 for f16 and bf16, i32 for
// integers of up to 32 bits (64 bits for integers of 32 when the sum is divided afterwards, as in a
// mean), and the type itself for all others. Errors: an accumulator of another class than the data,
// or narrower; data that are no numbers.
Result<DType> accumulator_type(const Args& args, bool divides = false);

// The same for operators that are defined on floating-point data only.
Result<DType> float_accumulator_type(const Args& args);

// The value in the type; itself if it has it.
Expr widened(DType type, Expr value);

}  // namespace espalier::ops
