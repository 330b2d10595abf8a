// One random step of a given kind.
#pragma once

#include <optional>
#include <vector>

#include "espalier/schedule/state.h"
#include "espalier/support/rng.h"

namespace espalier {

struct StepHints {
  StageId stage = kNoStage;  // the stage to change; kNoStage: any
  bool even = false;         // factors that divide
};

// A step of the kind (see step_kind.h) that looks applicable in `state`, though it need not be;
// nothing when the state has no place for one.
std::optional<Step> draw_step(Rng& rng, const State& state, int kind, const StepHints& hints);

// A split factor for the loop: below, equal to, above or co-prime with its extent, or one of its
// divisors if `even`. At most `limit` unless that is 0.
int64_t draw_factor(Rng& rng, const State& state, StageId s, LoopId l, bool even, int64_t limit);

// Stages with a nest.
std::vector<StageId> computed_stages(const State& state);

}  // namespace espalier
