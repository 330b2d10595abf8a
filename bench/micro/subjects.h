// What the compiler's own parts are timed on.
#pragma once

#include <vector>

#include "espalier/ir/stmt.h"
#include "espalier/schedule/state.h"
#include "espalier/search/policy.h"

namespace espalier::bench {

/// A layer of ResNet-50 for this machine, on one thread.
const Task& convolution();

/// The longest trace among the first candidates that are drawn for it with seed 1.
const Trace& long_trace();

/// Its preferred schedule, and what that lowers to.
const State& convolution_state();
const LoweredKernel& convolution_lowered();

/// Adds a benchmark for each pass of the pipeline.
void register_passes();

}  // namespace espalier::bench
