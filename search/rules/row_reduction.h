// A reduction along what lies side by side in memory: lanes and chains of partial results.
#pragma once

#include "espalier/search/rule.h"
#include "espalier/search/stage_access.h"

namespace espalier {

// The reduction axes (neighbours, first to last) along which every read that moves is consecutive;
// empty if there is no such axis, or if the combiner may not be reordered.
std::vector<int> lane_axes(const State& state, StageId s);

// Cuts those axes into chains x lanes, makes these the axes of a stage of partial results that is
// computed inside the stage's spatial loops (or where the stage itself is), and reduces them in the
// end. The stage is at root, its axes whole, or attached. With `shares` > 1 the outermost part of
// the reduction becomes an axis of the partial results too, in about so many parts that run in
// parallel: for a stage at root with few elements. With `tile`, for a stage at root, partial
// results of several elements are computed side by side where that saves loads. The partial
// results.
StageId reduce_along_lanes(PartialSketch& sketch, StageId s, int shares = 1, bool tile = false);

// The spatial axes along which vectors of the reduction's operands can be used again, at most two,
// in order: some read does not move along them.
std::vector<int> shared_axes(const StageAccess& access);

// For a reduction that uses its operands again: lanes along the terms, where they can be had, suit
// better than along the results: these are few, or an operand would have to be copied into panels
// for less use than that costs.
bool lanes_suit_better(const State& state, StageId s);

// The nest of a stage that was attached inside another one's loop: vectors along its last axis if
// its region has one, else lanes of the reduction, else nothing.
void schedule_attached(PartialSketch& sketch, StageId s);

}  // namespace espalier
