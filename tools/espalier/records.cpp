// espalier records: what is in files of tuning records, and what to do with them.
#include <map>
#include <tuple>

#include "command_line/table.h"
#include "espalier/search/record_tools.h"
#include "espalier/support/hash.h"
#include "espalier/support/json.h"
#include "espalier/support/number.h"
#include "task_options.h"
#include "verb.h"

namespace espalier::cli {
namespace {

// A workload on one line: the text of a DAG has several.
std::string title(const RunKey& run) {
  if (run.workload.find('\n') == std::string::npos) return run.workload;
  return "DAG " + hash_to_hex(run.dag_hash);
}

std::string microseconds(double us) { return us > 0 ? format_fixed(us, 1) : "-"; }

// Records of one task are checked against one DAG.
class TaskCache {
 public:
  Result<Task> task_of(const TuningRecord& record) {
    const auto key = std::make_tuple(record.run.workload, record.run.target, record.run.threads);
    auto at = tasks_.find(key);
    if (at == tasks_.end()) at = tasks_.emplace(key, make(record)).first;
    return at->second;
  }

 private:
  static Result<Task> make(const TuningRecord& record) {
    ESP_TRY(const Target target, parse_target(record.run.target));
    return task_of_workload(record.run.workload, target, record.run.threads);
  }

  std::map<std::tuple<std::string, std::string, int>, Result<Task>> tasks_;
};

class RecordsVerb final : public Verb {
 public:
  std::string_view name() const override { return "records"; }
  std::string_view summary() const override {
    return "show, merge, prune or verify files of tuning records";
  }

  void declare(Options& options) override {
    options.positionals("ACTION", words_,
                        "show|best|prune|verify FILE, or merge --out FILE FILE...");
    options.text("-o,--out", out_, "FILE",
                 "merge: the file to write, which may be among those read");
    options.integer("--keep", keep_, 1, INT64_MAX, "prune: records to keep of each task");
    options.flag("--json", json_, "one JSON object on standard output");
    options.flag("--quiet", quiet_, "no remarks on standard error");
    options.footer(
        "show    every record, a line each\n"
        "best    the fastest verified record of each workload, target and thread count\n"
        "merge   all records of several files, equal ones once\n"
        "prune   keep the fastest records of each task and its default schedule\n"
        "verify  check that every record parses and still replays");
  }

  Result<ExitCode> run(Console& console) override {
    console.quiet = quiet_;
    if (words_.empty()) return usage_error("records: expected ", kActions, "; see --help");
    const std::string action = words_.front();
    const std::vector<std::string> files(words_.begin() + 1, words_.end());
    if (action == "merge") return merge(files, console);
    if (action != "show" && action != "best" && action != "prune" && action != "verify") {
      return usage_error("records: unknown action '", action.substr(0, 60), "'; expected ",
                         kActions);
    }
    if (files.size() != 1) {
      return usage_error("records ", action, ": expected one file, got ",
                         std::to_string(files.size()));
    }
    if (action == "prune") return prune(files[0], console);
    ESP_TRY(const Database database, Database::open(files[0]));
    for (const std::string& warning : database.warnings()) console.warn(warning);
    if (action == "show") return show(database, console);
    if (action == "best") return best(database, console);
    return verify(database, console);
  }

 private:
  static constexpr std::string_view kActions = "one of show, best, merge, prune, verify";

  Result<ExitCode> show(const Database& database, Console& console) const {
    if (json_) {
      Json all = Json::array();
      for (const TuningRecord& record : database.records()) all.push(record_as_json(record));
      console.print(Json::object({{"records", std::move(all)}}).dump() + "\n");
      return kGood;
    }
    Table table({"line", "workload", "threads", "policy", "seed", "trial", "provenance", "status",
                 "us", "verified"},
                {0, 2, 4, 5, 8});
    for (size_t i = 0; i < database.records().size(); ++i) {
      const TuningRecord& r = database.records()[i];
      table.add({std::to_string(database.line(i)), title(r.run), std::to_string(r.run.threads),
                 r.run.policy, std::to_string(r.run.seed), std::to_string(r.trial),
                 std::string(name_of(r.provenance)), std::string(name_of(r.result.status)),
                 microseconds(r.result.time_us), r.verified ? "yes" : "no"});
    }
    console.print(table.text());
    return kGood;
  }

  Result<ExitCode> best(const Database& database, Console& console) const {
    Table table(
        {"workload", "threads", "records", "failed", "default us", "best us", "trial", "policy"},
        {1, 2, 3, 4, 5, 6});
    Json all = Json::array();
    for (const TaskSummary& s : summarize(database)) {
      const double initial = s.initial != nullptr ? s.initial->result.time_us : 0;
      table.add({title(s.any->run), std::to_string(s.any->run.threads), std::to_string(s.records),
                 std::to_string(s.failed), microseconds(initial),
                 s.best != nullptr ? microseconds(s.best->result.time_us) : "-",
                 s.best != nullptr ? std::to_string(s.best->trial) : "-",
                 s.best != nullptr ? s.best->run.policy : "-"});
      Json json = Json::object({{"workload", s.any->run.workload},
                                {"target", s.any->run.target},
                                {"threads", s.any->run.threads},
                                {"records", s.records},
                                {"failed", s.failed}});
      json.set("default_us", initial > 0 ? Json(initial) : Json());
      json.set("best_us", s.best != nullptr ? Json(s.best->result.time_us) : Json());
      json.set("record", s.best != nullptr ? record_as_json(*s.best) : Json());
      all.push(std::move(json));
    }
    console.print(json_ ? Json::object({{"tasks", std::move(all)}}).dump() + "\n" : table.text());
    return kGood;
  }

  Result<ExitCode> merge(const std::vector<std::string>& files, Console& console) const {
    if (!out_ || files.empty()) {
      return usage_error("records merge: expected --out FILE and the files to merge");
    }
    ESP_TRY(const RewriteReport report, merge_records(*out_, files));
    return report_rewrite(*out_, report, console);
  }

  Result<ExitCode> prune(const std::string& file, Console& console) const {
    ESP_TRY(const RewriteReport report, prune_records(file, static_cast<size_t>(keep_)));
    return report_rewrite(file, report, console);
  }

  Result<ExitCode> report_rewrite(const std::string& file, const RewriteReport& report,
                                  Console& console) const {
    for (const std::string& warning : report.warnings) console.warn(warning);
    if (json_) {
      console.print(
          Json::object({{"file", file}, {"read", report.read}, {"kept", report.kept}}).dump() +
          "\n");
    } else {
      console.print("read " + std::to_string(report.read) + " records, wrote " +
                    std::to_string(report.kept) + " to " + file + "\n");
    }
    return kGood;
  }

  Result<ExitCode> verify(const Database& database, Console& console) const {
    TaskCache tasks;
    const std::vector<std::string> faults =
        verify_records(database, [&](const TuningRecord& record) { return tasks.task_of(record); });
    if (json_) {
      console.print(
          Json::object({{"records", database.records().size()}, {"faults", faults}}).dump() + "\n");
    } else {
      for (const std::string& fault : faults) console.print(fault + "\n");
      console.print(std::to_string(database.records().size()) + " records, " +
                    std::to_string(faults.size()) + " faults\n");
    }
    return faults.empty() ? kGood : kFailed;
  }

  static Json record_as_json(const TuningRecord& record) {
    return parse_json(to_json_line(record)).value();
  }

  std::vector<std::string> words_;
  std::optional<std::string> out_;
  int64_t keep_ = 1;
  bool json_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_records_verb() { return std::make_unique<RecordsVerb>(); }

}  // namespace espalier::cli
