// Schedules written by hand, kept by operator: TRACES/<operator>/<anything>.trace, the first line
// of which is `# workload SPEC`, the second `# bits N`: the width of the vectors it was written
// for.
#pragma once

#include <string>

#include "espalier/support/result.h"

namespace espalier::bench {

/// The workload that the text of such a file is for, in canonical form; "" if the first line names
/// none.
std::string workload_of_trace(std::string_view text);

/// The path of the trace for a workload (a spec) on vectors of so many bits, or "" if there is
/// none. Of several, the first by name.
std::string find_hand_trace(const std::string& workload, int vector_bits,
                            const std::string& folder);

}  // namespace espalier::bench
