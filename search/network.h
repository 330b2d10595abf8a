// Network: a table of kernels with how often each occurs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "espalier/schedule/task.h"

namespace espalier {

struct NetworkTask {
  std::string spec;  // as it is written in the table
  Task task;
  int64_t count = 1;  // of this kernel in the network
};

struct Network {
  std::string name;
  std::vector<NetworkTask> tasks;  // distinct, in the order of first use
};

// Reads {"network": NAME, "kernels": [{"workload": SPEC, "count": N}, ...]}; other members are
// passed over. Kernels that are the same program become one task, whose counts add up.
//
// Errors: Parse for what is not such a table, and whatever is wrong with a workload, with its place
// in the table.
Result<Network> parse_network(std::string_view json, const Target& target, int threads);
Result<Network> load_network(const std::string& path, const Target& target, int threads);

}  // namespace espalier
