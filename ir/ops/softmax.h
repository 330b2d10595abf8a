// Softmax of a tensor, on its own and inside of larger operators.
#pragma once

#include "espalier/ir/ops/op_def.h"

namespace espalier::ops {

// exp(x - max) over its sum along axis `along`, in the type `acc`, which is `x`'s or a wider one.
// Four stages: top, power, total and softmax. A line that holds +inf, or nothing but -inf, is NaN.
Tensor softmax_along(const Tensor& x, size_t along, DType acc);

}  // namespace espalier::ops
