// Which elements a definition reads: one Access a distinct Read, its indices as linear forms.
#pragma once

#include <functional>

#include "espalier/ir/dag.h"

namespace espalier {

// `index` over `axes` (see LinearIndex). An index that wraps for some point of the axes is not
// affine.
LinearIndex linear_index(const Expr& index, const std::vector<Axis>& axes);

// True if the indices are affine and in range for every point of the axes, or if there is none.
bool is_always_in_range(const ReadNode& read, const std::vector<Axis>& axes);

// All reads of a definition in the order that Access documents. `stage_of` numbers the tensors.
std::vector<Access> find_accesses(const TensorNode& tensor,
                                  const std::function<int(const TensorNode*)>& stage_of);

// An error when some read may fall outside its tensor. Reads under a select or a `where` are the
// author's business. Other indices must be affine, or bounded by what they are made of (floordiv,
// floormod, min, max), or have at most 2^16 values to try. An index that comes from data must be
// proven in range by the value range of its placeholder, by min and max, by floormod, or by a
// select that tells the cases apart.
Result<void> check_accesses(const TensorNode& tensor);

}  // namespace espalier
