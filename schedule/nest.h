// The loop nest as text, with one place of it pointed at. print_nest of schedule/state.h is the
// same without.
#pragma once

#include <string>

#include "espalier/schedule/state.h"

namespace espalier {

// The line of the loop (of the stage's statement for kNoLoop; of its parts if the loop was
// consumed) ends with " <--". Lines are indented by `indent` columns.
std::string print_nest(const State& state, StageId marked_stage, LoopId marked_loop = kNoLoop,
                       int indent = 0);

// Iterations that the last, incomplete run of an inner part of a split has; 0 if every run is
// whole.
int64_t tail_extent(const Stage& stage, LoopId loop);

}  // namespace espalier
