// One run of a lowered kernel on fresh memory, by whatever means.
#pragma once

#include <functional>

#include "espalier/ir/evaluate.h"

namespace espalier {

// Runs a function on its parameters.
using Call = std::function<Result<void>(const LoweredFunc&, const std::vector<void*>&)>;

// Packs, if there is something to pack, and calls `main`: on copies of the arguments that cannot be
// written to, and outputs that hold all ones before, each between pages that fault. Outputs in the
// order of dag.outputs(). Errors: of `call`, and writes beside a buffer.
Result<std::vector<Array>> run_kernel(const LoweredKernel& kernel, const ComputeDag& dag,
                                      const std::vector<Array>& arguments, const Call& call);

}  // namespace espalier
