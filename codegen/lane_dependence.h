#pragma once

#include "espalier/ir/simplify.h"

namespace espalier {

// value = op(element, term), stored back to the element, whose place does not depend on `var`: a
// reduction over var's iterations.
struct LaneReduction {
  BinaryOp op{};
  Expr element;  // the Load
  Expr term;
};
std::optional<LaneReduction> as_lane_reduction(const StoreNode& store);

// Whether running all `extent` iterations of `var` through each statement of `body` before going on
// to the next statement gives what running them one after the other does, reductions as above
// apart. Unproven is no. Buffers allocated inside are taken as private to an iteration.
bool lanes_are_independent(const Stmt& body, const Var& var, int64_t extent, const Bounds& bounds);

}  // namespace espalier
