// A run over many random cases in child processes.
#pragma once

#include <string>
#include <vector>

#include "differential.h"
#include "tally.h"

namespace espalier {

struct FuzzOptions {
  CaseSource source = draw_random_steps;
  uint64_t seed = 1;
  uint64_t first = 0;  // number of the first case
  int64_t cases = INT64_MAX;
  double seconds = 1e9;  // no new case afterwards
  int jobs = 1;
  Depth depth = Depth::MachineCode;
  double patience = 30;        // seconds that one case may take, see ChildTimer
  size_t max_failures = 10;    // then the run ends
  double shrink_seconds = 60;  // for each failure; 0: failures stay as they are
};

struct FuzzFailure {
  uint64_t number = 0;
  Activity activity{};
  std::string what;
  std::string case_text;  // shrunk
};

struct FuzzReport {
  Tally tally;
  std::vector<FuzzFailure> failures;
};

FuzzReport run_fuzz(const FuzzOptions& options);

// What went wrong and a case that parse_case reads.
std::string to_string(const FuzzFailure& failure, uint64_t seed);

}  // namespace espalier
