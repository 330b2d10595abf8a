// Analyzer: predicts the time of schedules in closed form, without measurements: the draft of
// draft-then-verify (Qiao et al., "Pruner", ASPLOS 2025), for CPUs.
#pragma once

#include <memory>

#include "espalier/cost_model/cost_model.h"
#include "espalier/cost_model/stage_cost.h"

namespace espalier {

// Scores are -log of the predicted cycles. Nothing is learnt. The first candidates of a sketch cost
// a compilation of about a millisecond, the others under a microsecond: their traces are not
// replayed, so candidates should be legal.
std::unique_ptr<CostModel> make_analyzer(const DeviceModel& device);

}  // namespace espalier
