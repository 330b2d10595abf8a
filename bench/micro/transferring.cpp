// Transfer: one seed, all seeds of a task, and what a look-up among 100,000 records takes.
#include <benchmark/benchmark.h>

#include "espalier/ir/ops/workload.h"
#include "espalier/search/default_schedule.h"
#include "espalier/support/check.h"
#include "espalier/transfer/transferred_lookup.h"
#include "micro/subjects.h"

namespace espalier::bench {
namespace {

Task task_of(const std::string& spec) {
  Task task;
  task.dag = make_workload(parse_workload(spec).value()).value();
  task.target = host_target();
  task.workload = spec;
  return task;
}

// 500 programs of 200 records each.
const Database& database() {
  static const Database* const kDatabase = [] {
    auto* db = new Database();
    for (int i = 0; i < 500; ++i) {
      const std::string n = std::to_string(16 + 4 * i);
      const Task task =
          task_of(i % 2 == 0 ? "matmul:m=" + n + ",n=256,k=" + n + ",weights=constant"
                             : "conv2d:n=1,h=28,w=28,ci=" + n + ",co=64,k=3,p=1,epilogue=bias");
      const Candidate candidate = default_candidate(task);
      TuningRecord record;
      record.run.workload = task.workload;
      record.run.dag_hash = task.dag.hash();
      record.run.target = to_string(task.target);
      record.trace = to_string(candidate.trace(), task);
      record.result.status = MeasureStatus::Ok;
      record.verified = true;
      for (int trial = 0; trial < 200; ++trial) {
        record.trial = trial;
        record.candidate = candidate.hash() + static_cast<uint64_t>(trial);
        record.result.time_us = 100 + (trial * 37) % 101;
        record.result.times_us = {record.result.time_us};
        ESP_CHECK(db->append(record).ok());
      }
    }
    return db;
  }();
  return *kDatabase;
}

const DonorIndex& donors() {
  static const DonorIndex* const kIndex = new DonorIndex(database());
  return *kIndex;
}

// Match, retarget and refit.
void carry_one_seed(benchmark::State& run) {
  const Task donor = task_of("conv2d:n=1,h=56,w=56,ci=64,co=64,k=1,epilogue=bias+relu");
  const Trace trace = default_candidate(donor).trace();
  for (auto _ : run) {
    const Match m = match(donor.dag, convolution().dag);
    benchmark::DoNotOptimize(retarget(m.map(), donor, trace, convolution()));
  }
}
BENCHMARK(carry_one_seed)->Unit(benchmark::kMicrosecond);

void index_100000_records(benchmark::State& run) {
  for (auto _ : run) benchmark::DoNotOptimize(DonorIndex(database()));
}
BENCHMARK(index_100000_records)->Unit(benchmark::kMillisecond);

void find_donors_among_100000_records(benchmark::State& run) {
  donors();
  for (auto _ : run) benchmark::DoNotOptimize(donors().nearest(convolution().dag, 12));
}
BENCHMARK(find_donors_among_100000_records)->Unit(benchmark::kMicrosecond);

void look_up_among_100000_records(benchmark::State& run) {
  const Task known = task_of(database().records()[12345].run.workload);
  for (auto _ : run) benchmark::DoNotOptimize(look_up(database(), known, default_candidate));
}
BENCHMARK(look_up_among_100000_records)->Unit(benchmark::kMicrosecond);

// Ranked, from the index.
void carry_all_seeds_of_a_task(benchmark::State& run) {
  donors();
  for (auto _ : run) benchmark::DoNotOptimize(transfer(donors(), convolution()));
}
BENCHMARK(carry_all_seeds_of_a_task)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace espalier::bench
