// What a workload must move, whatever computes it.
#pragma once

#include "espalier/ir/dag.h"

namespace espalier::bench {

/// Bytes of all inputs, constants and outputs, each once. Of a table that indices select from, no
/// more than is selected.
double traffic_bytes(const ComputeDag& dag);

}  // namespace espalier::bench
