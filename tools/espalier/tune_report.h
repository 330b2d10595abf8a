// What a search found, for people and for programs.
#pragma once

#include <string>

#include "espalier/schedule/task.h"
#include "espalier/search/tuner.h"

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

}  // namespace espalier::cli
