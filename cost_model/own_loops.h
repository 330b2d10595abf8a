// The loops of a stage as its body sees them.
#pragma once

#include "espalier/cost_model/streams.h"

namespace espalier {

// The straight code of a stage is its body: the vectorized loop, and what is unrolled inside all
// serial loops.
struct OwnLoop {
  Quantity extent, effective, units;
  bool reduce = false, vector = false;
  // 1 or 0: part of the body; the innermost serial loop; outside of that.
  Quantity straight = 0, inner = 0, outside = 0;
  Quantity in_body() const { return 1 + straight * (extent - 1); }
};

// In order. Whether a loop is straight code, or the innermost one that is not, may depend on
// numbers: one iteration needs no loop.
std::vector<OwnLoop> own_loops(const State& state, const Shape& shape, StageId s);

// Whether the loop is (part of) the axis.
bool comes_from(const Stage& stage, LoopId l, LoopId axis);

// More than 1 where conditions that tell which terms of a reduction exist stand inside the body:
// the copies of it that they tell apart. Conditions are settled outside where the axis that decides
// beside the terms' own stands still or lies in the body, and in the interior of a partitioned
// loop.
Quantity conditions_in_body(const State& state, const StageNest& nest,
                            const std::vector<OwnLoop>& loops);

}  // namespace espalier
