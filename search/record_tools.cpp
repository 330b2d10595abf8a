#include "espalier/search/record_tools.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>

#include "espalier/schedule/state.h"
#include "espalier/support/fd.h"

namespace espalier {
namespace {

using TaskKey = std::tuple<uint64_t, std::string_view, int>;

TaskKey task_key(const TuningRecord& r) { return {r.run.dag_hash, r.run.target, r.run.threads}; }

bool same_file(const std::string& a, const std::string& b) {
  struct stat x{}, y{};
  return stat(a.c_str(), &x) == 0 && stat(b.c_str(), &y) == 0 && x.st_dev == y.st_dev &&
         x.st_ino == y.st_ino;
}

bool exists(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0;
}

}  // namespace

Result<RewriteReport> merge_records(const std::string& out,
                                    const std::vector<std::string>& inputs) {
  const bool among = std::any_of(inputs.begin(), inputs.end(),
                                 [&](const std::string& in) { return same_file(in, out); });
  if (exists(out) && !among) {
    return make_error(ErrorCode::InvalidArgument, "'", out,
                      "' exists and is not among the files to merge, so its records would be lost: "
                      "name it among them, or remove it first");
  }
  RewriteReport report;
  std::string text;
  std::unordered_set<std::string> seen;
  for (const std::string& in : inputs) {
    ESP_TRY(const Database db, Database::open(in));
    report.read += db.records().size();
    report.warnings.insert(report.warnings.end(), db.warnings().begin(), db.warnings().end());
    for (const TuningRecord& r : db.records()) {
      const auto [line, fresh] = seen.insert(to_json_line(r));
      if (!fresh) continue;
      text.append(*line).push_back('\n');
      ++report.kept;
    }
  }
  ESP_TRY_VOID(write_file(out, text));
  return report;
}

Result<RewriteReport> prune_records(const std::string& path, size_t keep) {
  ESP_TRY(const Database db, Database::open(path));
  RewriteReport report;
  report.read = db.records().size();
  report.warnings = db.warnings();

  std::map<TaskKey, std::vector<size_t>> by_task, defaults;
  for (size_t i = 0; i < db.records().size(); ++i) {
    const TuningRecord& r = db.records()[i];
    if (!is_usable(r)) continue;
    by_task[task_key(r)].push_back(i);
    if (r.provenance == Provenance::Default) defaults[task_key(r)].push_back(i);
  }
  std::vector<bool> kept(db.records().size(), false);
  auto keep_fastest = [&](std::vector<size_t>& of_task, size_t count) {
    std::sort(of_task.begin(), of_task.end(), [&](size_t a, size_t b) {
      const TuningRecord &x = db.records()[a], &y = db.records()[b];
      return is_preferred(x, y) || (!is_preferred(y, x) && a < b);
    });
    for (size_t i = 0; i < std::min(count, of_task.size()); ++i) kept[of_task[i]] = true;
  };
  for (auto& [key, of_task] : by_task) keep_fastest(of_task, keep);
  for (auto& [key, of_task] : defaults) keep_fastest(of_task, 1);

  std::string text;
  for (size_t i = 0; i < db.records().size(); ++i) {
    if (!kept[i]) continue;
    text.append(to_json_line(db.records()[i])).push_back('\n');
    ++report.kept;
  }
  ESP_TRY_VOID(write_file(path, text));
  return report;
}

std::vector<TaskSummary> summarize(const Database& database) {
  std::vector<TaskSummary> summaries;
  std::map<TaskKey, size_t> index;
  for (const TuningRecord& r : database.records()) {
    const auto [it, fresh] = index.emplace(task_key(r), summaries.size());
    if (fresh) summaries.push_back({.any = &r});
    TaskSummary& s = summaries[it->second];
    if (!r.final) ++s.records;
    if (!r.result.ok()) ++s.failed;
    if (!is_usable(r)) continue;
    auto take_faster = [&r](const TuningRecord*& so_far) {
      if (so_far == nullptr || is_preferred(r, *so_far)) so_far = &r;
    };
    take_faster(s.best);
    if (r.provenance == Provenance::Default) take_faster(s.initial);
  }
  return summaries;
}

std::vector<std::string> verify_records(
    const Database& database, const std::function<Result<Task>(const TuningRecord&)>& task_of) {
  std::vector<std::string> faults;
  for (size_t i = 0; i < database.records().size(); ++i) {
    const TuningRecord& r = database.records()[i];
    auto fault = [&](std::string_view what) {
      faults.push_back(detail::concat(database.path(), ":", database.line(i), ": ", what));
    };
    const Result<Task> task = task_of(r);
    if (!task.ok()) {
      fault("its workload makes no task: " + task.error().message);
      continue;
    }
    if (task->dag.hash() != r.run.dag_hash) {
      fault("its hash is not that of its workload");
      continue;
    }
    const Result<Trace> trace = parse_trace(r.trace, *task);
    if (!trace.ok()) {
      fault("its trace does not parse: " + trace.error().message);
      continue;
    }
    const Replayed replayed = replay(*task, *trace);
    if (!replayed.ok() && r.result.ok()) {
      fault("its trace does not replay: " + explain(replayed.rejection(), *task, *trace));
    }
  }
  return faults;
}

}  // namespace espalier
