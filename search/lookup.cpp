#include "espalier/search/lookup.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace espalier {
namespace {

// How a record relates to the task: a level and, within it, whether the threads are the same.
struct Fit {
  const TuningRecord* record = nullptr;
  LookupLevel level = LookupLevel::Exact;
  bool same_threads = true;

  // Of equally good ones the older.
  auto rank() const {
    return std::make_tuple(level, !same_threads, !record->final, record->result.time_us, record);
  }
};

std::string counted(size_t n, const std::string& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

// Targets are parsed once each: a file holds thousands of records for a few of them.
class TargetFits {
 public:
  explicit TargetFits(const Target& here) : here_(here), text_(to_string(here)) {}

  bool same(const std::string& target) const { return target == text_; }
  bool runs_here(const std::string& target) {
    const auto [at, is_new] = known_.try_emplace(target, false);
    if (is_new) {
      const Result<Target> parsed = parse_target(target);
      at->second = parsed.ok() && parsed->runs_on(here_);
    }
    return at->second;
  }

 private:
  const Target& here_;
  std::string text_;
  std::map<std::string, bool> known_;
};

}  // namespace

std::string_view name_of(LookupLevel level) {
  switch (level) {
    case LookupLevel::Exact: return "exact";
    case LookupLevel::Compatible: return "compatible";
    case LookupLevel::Transferred: return "transferred";
    case LookupLevel::Default: return "default";
  }
  ESP_UNREACHABLE();
}

Result<Lookup> look_up(const Database& database, const Task& task,
                       const std::function<Candidate(const Task&)>& default_schedule) {
  std::vector<Fit> fits;
  std::vector<std::string> notes;
  std::map<std::string, size_t> refused;  // records by target
  TargetFits targets(task.target);
  for (size_t number : database.of_dag(task.dag.hash())) {
    const TuningRecord& record = database.records()[number];
    if (!is_usable(record)) continue;
    Fit fit{&record, LookupLevel::Exact, record.run.threads == task.threads};
    if (!targets.same(record.run.target)) {
      if (!targets.runs_here(record.run.target)) {
        ++refused[record.run.target];
        continue;
      }
      fit.level = LookupLevel::Compatible;
    }
    if (!fit.same_threads) fit.level = LookupLevel::Compatible;
    fits.push_back(fit);
  }
  for (const auto& [target, count] : refused) {
    notes.push_back("refused " + counted(count, "record") + " for target '" + target +
                    "', whose code does not run on this one");
  }

  std::sort(fits.begin(), fits.end(),
            [](const Fit& a, const Fit& b) { return a.rank() < b.rank(); });
  for (const Fit& fit : fits) {
    const TuningRecord& record = *fit.record;
    const Result<Trace> trace = parse_trace(record.trace, task);
    if (!trace.ok()) {
      notes.push_back("trial " + std::to_string(record.trial) +
                      " no longer parses: " + trace.error().message);
      continue;
    }
    Replayed replayed = replay(task, *trace);
    if (!replayed.ok()) {
      notes.push_back("trial " + std::to_string(record.trial) +
                      " no longer applies: " + explain(replayed.rejection(), task, *trace));
      continue;
    }
    if (!targets.same(record.run.target)) {
      notes.push_back("adapted: the record is for target '" + record.run.target + "'");
    }
    if (!fit.same_threads) {
      notes.push_back("adapted: the record is for " +
                      counted(static_cast<size_t>(record.run.threads), "thread") + ", wanted is " +
                      std::to_string(task.threads));
    }
    return Lookup{fit.level, replayed.take(), &record, std::move(notes)};
  }

  const Candidate fallback = default_schedule(task);
  Replayed replayed = replay(task, fallback);
  if (!replayed.ok()) {
    return make_error(ErrorCode::Internal, "the default schedule does not apply: ",
                      explain(replayed.rejection(), task, fallback.trace()));
  }
  return Lookup{LookupLevel::Default, replayed.take(), nullptr, std::move(notes)};
}

}  // namespace espalier
