#include "models/pool/pool.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "espalier/ir/ops/workload.h"
#include "espalier/schedule/text.h"
#include "espalier/search/database.h"

namespace espalier::bench {
namespace {

Result<Task> task_of(const RunKey& run) {
  Task task;
  task.workload = run.workload;
  task.threads = run.threads;
  ESP_TRY(task.target, parse_target(run.target));
  if (run.workload.find('\n') != std::string::npos) {
    ESP_TRY(task.dag, parse_dag(run.workload));
    return task;
  }
  ESP_TRY(const Workload workload, parse_workload(run.workload));
  ESP_TRY(task.dag, make_workload(workload));
  return task;
}

double least_time(const MeasureResult& result) {
  if (!result.ok()) return std::numeric_limits<double>::infinity();
  const std::vector<double>& times = result.times_us;
  return times.empty() ? result.time_us : *std::min_element(times.begin(), times.end());
}

}  // namespace

Result<std::vector<Pool>> read_pools(const std::vector<std::string>& files) {
  std::vector<Pool> pools;
  std::map<std::string, size_t> known;  // tasks by what tells them apart
  std::vector<std::unordered_map<uint64_t, size_t>> of_hash;
  for (const std::string& file : files) {
    ESP_TRY(const Database database, Database::open(file));
    for (size_t i = 0; i < database.records().size(); ++i) {
      const TuningRecord& record = database.records()[i];
      if (record.final) continue;
      const std::string key = record.run.workload + "\n" + record.run.target + "\n" +
                              std::to_string(record.run.threads);
      const auto [at, fresh] = known.try_emplace(key, pools.size());
      if (fresh) {
        Result<Task> task = task_of(record.run);
        if (!task.ok()) return std::move(task).error();
        pools.push_back({std::move(task).value(), {}, {}});
        of_hash.emplace_back();
      }
      Pool& pool = pools[at->second];
      Result<Trace> trace = parse_trace(record.trace, pool.task);
      if (!trace.ok()) {
        return Error{trace.error().code,
                     file + ":" + std::to_string(database.line(i)) + ": " + trace.error().message};
      }
      Candidate candidate = make_candidate(std::move(trace).value());
      const double time = least_time(record.result);
      const auto [place, first] =
          of_hash[at->second].try_emplace(candidate.hash(), pool.candidates.size());
      if (first) {
        pool.candidates.push_back(std::move(candidate));
        pool.times.push_back(time);
      } else {
        pool.times[place->second] = std::min(pool.times[place->second], time);
      }
    }
  }
  return pools;
}

}  // namespace espalier::bench
