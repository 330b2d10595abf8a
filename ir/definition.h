// What must hold of one tensor's definition, and what can be told from it alone.
#pragma once

#include <functional>

#include "espalier/ir/dag.h"

namespace espalier {

// Deepest nesting of a definition's expressions; passes recurse over them.
inline constexpr int kMaxExprDepth = 1000;
// Most nodes of a definition, where a node that several places share counts at each of them: text
// and most passes write them out.
inline constexpr int64_t kMaxExprSize = 100000;
// Most dimensions of a tensor, and most axes of a reduction.
inline constexpr size_t kMaxAxes = 64;
// Most tensors of a DAG: analyses and schedules compare them pairwise, and number them in 16 bits.
inline constexpr size_t kMaxTensors = 4096;

// An Error that names the tensor unless its definition is sound: no poison, no loop-level nodes or
// vectors, a reduction at the top only, no variables but its own axes, sensible extents and types.
// Accesses are checked elsewhere (ir/access.h).
Result<void> check_definition(const TensorNode& tensor);

// Tensors that a sound definition reads, each once, in the order of a depth-first walk.
std::vector<Tensor> tensors_read(const TensorNode& tensor);

// Floating-point operations of one element of a stage as StageInfo::flops counts them; arithmetic
// on integer data counts as well, indices and conditions do not.
double operations_per_element(const TensorNode& tensor);

// Structural hash; `stage_of` numbers the tensors read, names do not matter.
uint64_t hash_definition(const TensorNode& tensor,
                         const std::function<int(const TensorNode*)>& stage_of);

}  // namespace espalier
