// What the tests of this layer share.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "espalier/ir/ops/workload.h"
#include "espalier/schedule/state.h"
#include "espalier/search/default_schedule.h"
#include "espalier/search/record.h"
#include "espalier/transfer/match.h"
#include "espalier/transfer/retarget.h"

namespace espalier {

// From a workload's spec or the text of a DAG.
inline ComputeDag dag_of(std::string_view text) {
  return text.find('\n') == std::string_view::npos
             ? make_workload(parse_workload(text).value()).value()
             : parse_dag(text).value();
}

// A machine like many: AVX2, or AVX-512 with `wide`. Not the one that runs the test.
inline Target machine(bool wide = false) {
  return parse_target(wide ? "x86_64 features=+avx512f bits=512 regs=32 l2=1048576 cores=2"
                           : "x86_64 features=+avx2 bits=256 regs=16 l2=524288 cores=2")
      .value();
}

inline Task task_of(std::string_view text, int threads = 1, bool wide = false) {
  const bool is_spec = text.find('\n') == std::string_view::npos;
  return {dag_of(text), machine(wide), threads, is_spec ? std::string(text) : std::string()};
}

// A record of a schedule that took so long.
inline TuningRecord record_of(const Task& task, const Candidate& candidate, double time_us,
                              int trial = 1) {
  TuningRecord r;
  r.run.workload = task.workload.empty() ? to_string(task.dag) : task.workload;
  r.run.dag_hash = task.dag.hash();
  r.run.target = to_string(task.target);
  r.run.threads = task.threads;
  r.run.policy = "random";
  r.trial = trial;
  r.provenance = trial == 0 ? Provenance::Default : Provenance::Sampled;
  r.candidate = candidate.hash();
  r.trace = to_string(candidate.trace(), task);
  r.decisions = candidate.decisions;
  r.result.status = MeasureStatus::Ok;
  r.result.time_us = time_us;
  r.result.times_us = {time_us};
  r.verified = true;
  return r;
}

}  // namespace espalier
