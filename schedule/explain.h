// Why a step does not apply, in words. explain() of schedule/state.h adds the nest.
#pragma once

#include <string>

#include "espalier/schedule/state.h"

namespace espalier {

// One or two sentences: the step as text, what was expected, what was there, what to do. `state`
// is what the step was applied to.
std::string reason(const Rejection& rejection, const State& state, const Step& step);

}  // namespace espalier
