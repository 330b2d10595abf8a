// What several rules do to a nest.
#pragma once

#include <vector>

#include "espalier/search/rule.h"
#include "espalier/search/stage_access.h"

namespace espalier {

// Axes of the stage's definition that the loop is made from.
std::vector<int> axes_of_loop(const Stage& stage, LoopId l);

// Loops of the stage's nest below `loop` (kNoLoop: all), outermost first.
std::vector<LoopId> loops_below(const Stage& stage, LoopId loop);

// The innermost loop of the nest; kNoLoop if there is none.
LoopId innermost(const Stage& stage);

// "rows of C": names of slots are the same in all sketches that cut the stage in that way.
std::string name_slot(const PartialSketch& sketch, StageId s, std::string_view role);

// Makes leading loops parallel if the task has threads for them: `outer` are neighbouring spatial
// loops of the stage from the outside in. How many of them are fused is the chooser's to say,
// preferably so many that each thread gets a few iterations, and none where the work is smaller
// than waking a thread. The fused loop takes their place in `outer`.
void parallelize(PartialSketch& sketch, StageId s, std::vector<LoopId>* outer, double work_us,
                 Chooser& chooser);

// Microseconds that one thread will take for the whole stage, roughly: its operations, or moving
// what it reads and writes. It decides whether waking other threads pays.
double work_of(const State& state, StageId s);

// Work that is shared is worth waking a thread for.
inline constexpr double kWorthWakingUs = 20;

// Vectorizes a stage without a reduction along its innermost contiguous axis among `axes` (loops
// that are still leaves), cut into `unroll` vectors; the rest of the axis stays outside. Axes that
// act as one are fused first, where `axes` says that they may. Does nothing for points.
void vectorize_points(PartialSketch& sketch, StageId s, std::vector<int> axes);

}  // namespace espalier
