// tune_network(): searches for fast schedules of many tasks under one budget.
#pragma once

#include "espalier/search/measurer_pool.h"
#include "espalier/search/network.h"
#include "espalier/search/tuner.h"

namespace espalier {

struct NetworkOptions {
  TuneOptions each;  // of each task; its trials, seconds and seeds do not count
  // What to measure of a task right after its default schedule; empty: nothing.
  std::function<std::vector<Seed>(const Task&)> seeds;
  std::optional<int> trials;  // of all tasks together; nothing: 64 a task
  double seconds = 0;         // of wall time, all included; 0: no limit
  int round = 16;             // candidates that a task gets at once
  size_t alive = 6;           // measurers kept at once
  // The parts of a task's policy, in place of each.parts: models are not shared between tasks.
  std::function<Result<PolicyParts>(const Task&)> parts;
  // After each candidate; `trial` and `trials` are those of all tasks.
  std::function<void(size_t task, const TuneProgress&)> progress;
};

struct NetworkReport {
  std::vector<TuneReport> tasks;  // one a task of the network, in order
  int trials = 0;
  double seconds = 0;
  StopReason stopped = StopReason::Trials;
  // Of one pass through the network: times weighted by count.
  double default_us = 0;  // a default schedule that failed counts with its task's best time
  double best_us = 0;
};

// First the default schedule and the seeds of each task, then rounds for the task that the
// TaskScheduler chooses, and a final comparison for each task. Each task's candidates are those
// that tune() with the same options would measure, as many of them as it gets rounds for. It ends
// when the budget is used up or no task is worth going on with. Errors as of tune(), with the task.
Result<NetworkReport> tune_network(const Network& network, const NetworkOptions& options,
                                   const MeasurerFactory& make_measurer);

}  // namespace espalier
