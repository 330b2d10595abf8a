// What the core does: the body of a stage and the loops around it.
#pragma once

#include "espalier/cost_model/own_loops.h"
#include "espalier/cost_model/stage_cost.h"

namespace espalier {

// Fills in all of `cost` that is about the body and the nest, on one core, with data in L1.
// `instructions` grows by those of the body.
void cost_of_core(const State& state, const Shape& shape, const DeviceModel& device,
                  const StageNest& nest, const std::vector<OwnLoop>& loops, StageCost& cost,
                  Quantity& instructions);

}  // namespace espalier
