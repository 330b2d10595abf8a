// Pruner's draft as published (Qiao et al., ASPLOS 2025, table 2 and equation 1), taken literally
// to a CPU: registers for level 0, the first cache for shared memory, the memory for level 2, the
// lanes of a vector for a transaction, threads for multiprocessors. A column to compare with.
#pragma once

#include <memory>

#include "espalier/cost_model/cost_model.h"
#include "espalier/support/device_model.h"

namespace espalier::bench {

std::unique_ptr<CostModel> make_pruner_formulas(const DeviceModel& device);

}  // namespace espalier::bench
