// The reads of a definition, and the points that its axes run over.
#pragma once

#include <functional>
#include <optional>

#include "espalier/ir/dag.h"
#include "espalier/ir/simplify.h"

namespace espalier {

// Spatial axes, then the reduction's: the order of LinearIndex::coef.
std::vector<Axis> all_axes(const TensorNode& tensor);
// True if some extent is 0.
bool is_empty(const std::vector<Axis>& axes);
Bounds bounds_of(const std::vector<Axis>& axes);
// The least and greatest value over the points of the axes, exactly; nothing when it overflows.
std::optional<Interval> range_of(const LinearIndex& form, const std::vector<Axis>& axes);

// Whether data decide about an index.
bool reads_data(const Expr& e);

// Calls `f` for each Read of a definition, outer ones first, left to right, a `where` before the
// value; `guarded` tells whether it stands under a select or a `where`. A node that occurs several
// times is visited once, and once more if it is guarded in one place only.
void for_each_read(const TensorNode& tensor,
                   const std::function<void(const ReadNode&, bool guarded)>& f);

}  // namespace espalier
