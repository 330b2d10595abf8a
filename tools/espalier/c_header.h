// The C header that goes with an exported object.
#pragma once

#include <string>

#include "espalier/ir/stmt.h"
#include "espalier/schedule/task.h"

namespace espalier::cli {

/// Declares the functions of `lowered`, which go by `symbol` and symbol + "_pack", with the arrays
/// that they take and the memory that they need. `lowered` is what schedules lower to; the sizes
/// are those after the passes for the task's target.
std::string c_header(const LoweredKernel& lowered, const Task& task, const std::string& symbol);

}  // namespace espalier::cli
