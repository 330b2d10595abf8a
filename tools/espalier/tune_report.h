// What a search found, for people and for programs.
#pragma once

#include <string>

#include "espalier/schedule/task.h"
#include "espalier/search/tune_network.h"

namespace espalier::cli {

/// What the run was asked for, which its report does not repeat.
struct TuneRequest {
  std::string workload, policy, records;
  uint64_t seed = 0;
};

/// The JSON object of `tune --json`, on one line.
std::string as_json(const Task& task, const TuneRequest& request, const TuneReport& report);
/// A table of naive, default and tuned, and what led there.
std::string as_text(const Task& task, const TuneRequest& request, const TuneReport& report);

/// The JSON object of `tune --network --json`, on one line: one object a task, with its count, and
/// totals weighted by count.
std::string as_json(const Network& network, const TuneRequest& request,
                    const NetworkReport& report);
/// A table with a row a task, and the totals.
std::string as_text(const Network& network, const TuneRequest& request,
                    const NetworkReport& report);

}  // namespace espalier::cli
