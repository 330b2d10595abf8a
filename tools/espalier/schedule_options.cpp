#include "schedule_options.h"

#include <sys/stat.h>

#include "espalier/search/default_schedule.h"
#include "espalier/support/fd.h"
#include "espalier/support/number.h"
#include "espalier/transfer/transferred_lookup.h"
#include "verb.h"

namespace espalier::cli {
namespace {

// The text of --trace: a file's if there is one of that name. On a command line, as in the
// reproducers that failing candidates print, line ends may be written "\n".
Result<std::string> trace_text(const std::string& given) {
  struct stat status;
  if (stat(given.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    return read_file(given, 1 << 20);
  }
  std::string text;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] == '\\' && i + 1 < given.size() && given[i + 1] == 'n') {
      text += '\n';
      ++i;
    } else {
      text += given[i];
    }
  }
  return text;
}

Result<ChosenSchedule> apply_trace(const Task& task, const std::string& given) {
  ESP_TRY(const std::string text, trace_text(given));
  auto trace = parse_trace(text, task);
  if (!trace.ok()) return with_note(std::move(trace).error(), "in --trace");
  Replayed replayed = replay(task, *trace);
  if (!replayed.ok()) {
    return make_error(ErrorCode::InvalidArgument, "the schedule of --trace does not apply: ",
                      explain(replayed.rejection(), task, *trace));
  }
  return ChosenSchedule{replayed.take(), "given", {}};
}

// What was tried on one line of the records, fast or not.
Result<ChosenSchedule> apply_line(const Database& database, const Task& task, int64_t line) {
  const std::string where = "line " + std::to_string(line) + " of " + database.path();
  for (size_t i = 0; i < database.records().size(); ++i) {
    if (database.line(i) != line) continue;
    const TuningRecord& record = database.records()[i];
    if (record.run.dag_hash != task.dag.hash()) {
      return make_error(ErrorCode::InvalidArgument, where, " is of another workload, ",
                        record.run.workload.substr(0, record.run.workload.find('\n')));
    }
    auto trace = parse_trace(record.trace, task);
    if (!trace.ok()) return with_note(std::move(trace).error(), "in ", where);
    Replayed replayed = replay(task, *trace);
    if (!replayed.ok()) {
      return make_error(ErrorCode::InvalidArgument, "the schedule of ", where,
                        " does not apply: ", explain(replayed.rejection(), task, *trace));
    }
    return ChosenSchedule{replayed.take(), "line", record};
  }
  return make_error(ErrorCode::NotFound, where, " holds no record; 'espalier records show ",
                    database.path(), "' lists those that do");
}

}  // namespace

void ScheduleOptions::declare(Options& options) {
  options.text("--records", records_, "FILE", "take the best known schedule from these records");
  options.integer("--line", line_, 1, INT64_MAX,
                  "of the records: take the schedule of that line, fast or not");
  options.text("--trace", trace_, "TEXT|FILE", "take this schedule instead, steps as text");
}

Result<ChosenSchedule> ScheduleOptions::choose(const Task& task, Console& console) const {
  if (records_ && trace_) {
    return usage_error("--records and --trace both say which schedule to take; give one of them");
  }
  if (line_ && !records_) return usage_error("--line is one of --records FILE, which is missing");
  if (trace_) return apply_trace(task, *trace_);
  Database database;
  if (records_) {
    ESP_TRY(database, Database::open(*records_));
    for (const std::string& warning : database.warnings()) console.warn(warning);
  }
  if (line_) return apply_line(database, task, *line_);
  ESP_TRY(Lookup found, look_up_or_transfer(database, task, default_candidate));
  for (const std::string& note : found.notes) console.note("note: " + note);
  ChosenSchedule chosen{std::move(found.state), name_of(found.level), {}};
  if (found.record != nullptr) chosen.record = *found.record;
  return chosen;
}

std::string describe(const ChosenSchedule& chosen) {
  std::string text = "look-up: " + std::string(chosen.lookup);
  if (chosen.record) {
    const TuningRecord& r = *chosen.record;
    if (!r.result.ok()) {
      return text + " (trial " + std::to_string(r.trial) + " of policy " + r.run.policy + ", " +
             std::string(name_of(r.result.status)) + " when recorded)";
    }
    const bool elsewhere = chosen.lookup == name_of(LookupLevel::Transferred);
    text += " (trial " + std::to_string(r.trial) + " of policy " + r.run.policy +
            (elsewhere ? " for another workload, " : ", ") + format_fixed(r.result.time_us, 1) +
            (elsewhere ? " us there)" : " us when recorded)");
  }
  return text;
}

}  // namespace espalier::cli
