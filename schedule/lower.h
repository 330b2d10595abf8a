// Lowering: a State becomes loops over buffers.
#pragma once

#include "espalier/ir/stmt.h"
#include "espalier/schedule/state.h"

namespace espalier {

// Loops, stores and guards as the schedule says, tails resolved (loops clipped, full tiles peeled,
// partitions cut; what remains is a scalar or lane condition). Params are the DAG's inputs, its
// constants (in `main` only those not packed), the packed constants, then the outputs.
// Fails when the code would be too large or a buffer too big.
Result<LoweredKernel> lower(const State& state);

}  // namespace espalier
