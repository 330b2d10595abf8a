// tune(): searches for the fastest schedule of a task.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "espalier/search/phases.h"
#include "espalier/search/tune_options.h"

namespace espalier {

enum class StopReason : uint8_t {
  Trials,
  Seconds,
  Converged,  // the policy has nothing to propose, though the space may hold more
  Exhausted,  // every candidate of a small space was measured
  Interrupted,
};
std::string_view name_of(StopReason r);  // "trials", "seconds", ...

struct FailedCounts {
  int compile = 0, run = 0, timeout = 0, wrong = 0;
  int total() const { return compile + run + timeout + wrong; }
};

struct CurvePoint {
  int trial = 0;  // candidates so far
  double seconds = 0;
  double best_us = 0;
};

struct TuneReport {
  int trials = 0;  // candidates that counted against the budget
  FailedCounts failed;
  double seconds = 0;
  StopReason stopped = StopReason::Trials;
  PhaseSeconds seconds_by_phase;
  std::optional<double> naive_us;    // nothing: too slow to wait for, or it was not asked for
  std::optional<double> default_us;  // nothing: it failed
  double best_us = 0;                // this and default_us from the final comparison
  double best_gflops = 0;
  double max_error = 0;
  bool verified = false;          // false only if it was interrupted before anything ran right
  std::vector<CurvePoint> curve;  // a point each time the best improved
  Candidate best;
  TuningRecord record;  // of the best
};

// Measures the default schedule, then what the policy proposes, and compares the fastest with the
// default schedule in the end, interleaved. The result ran right and is not slower than the default
// schedule. Every result is recorded at once. A run with a record file goes through its proposals
// from the seed; those that the file answers for the same workload, target, threads, policy, seed
// and versions are not measured again.
//
// Errors: options that make no sense, an unknown policy, a record file that cannot be read or
// written, or nothing that ran right (with the first error of each kind).
Result<TuneReport> tune(const Task& task, const TuneOptions& options, Measurer& measurer);

// The first n candidates that such a run would measure if it learnt nothing from them.
Result<std::vector<Proposal>> propose(const Task& task, int n, const TuneOptions& options);

}  // namespace espalier
