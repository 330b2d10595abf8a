// Random schedules: steps drawn from what the state offers, some of them wrong.
#pragma once

#include <functional>

#include "espalier/schedule/state.h"
#include "espalier/support/rng.h"
#include "tally.h"

namespace espalier {

struct DrawOptions {
  int focus = -1;            // a step kind that should be among the steps,
  TailKind tail{};           // and a tail that the nest which it is about should have
  bool even = false;         // only factors that divide
  bool pad = true;           // no `pad` steps otherwise
  double max_code = 2500;    // instructions, as code_size estimates them
  double max_work = 400000;  // iterations of all stages
  std::function<void(const State&, const Step&)> before_step;  // called before a step is applied
};

// Applies random steps to the task's initial state. Every rejection is counted, and must leave the
// state as it was.
State random_schedule(Rng& rng, const Task& task, const DrawOptions& options, Tally& tally);

// Iterations that all stages make, tails not clipped.
double iterations(const State& state);

}  // namespace espalier
