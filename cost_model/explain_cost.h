// Why a schedule is thought slow, for people.
#pragma once

#include <string>

#include "espalier/cost_model/stage_cost.h"

namespace espalier {

// The predicted time of a call, then stage by stage, the costliest first, where it goes and what
// limits it. Lines end in '\n'.
std::string explain_cost(const State& state, const DeviceModel& device);

}  // namespace espalier
