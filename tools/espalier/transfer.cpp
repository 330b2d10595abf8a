// espalier transfer: what records of other workloads say about one.
#include <algorithm>
#include <cmath>
#include <map>

#include "espalier/ir/ops/workload.h"
#include "espalier/search/network.h"
#include "espalier/support/fd.h"
#include "espalier/support/json.h"
#include "espalier/support/number.h"
#include "espalier/transfer/explanation.h"
#include "task_options.h"
#include "verb.h"

namespace espalier::cli {
namespace {

constexpr size_t kDeclinedShown = 8;

std::string workload_of(const TuningRecord& r) {
  return r.run.workload.find('\n') == std::string::npos ? r.run.workload : "a DAG as text";
}

struct Fates {
  int kept = 0, mended = 0, dropped = 0, added = 0;
};

Fates count(const TransferSeed& seed) {
  Fates fates;
  for (const StepReport& s : seed.steps) {
    switch (s.fate) {
      case StepFate::Kept: ++fates.kept; break;
      case StepFate::Mended: ++fates.mended; break;
      case StepFate::Dropped: ++fates.dropped; break;
      case StepFate::Added: ++fates.added; break;
    }
  }
  return fates;
}

Json as_json(const Explanation& e) {
  Json steps = Json::array(), factors = Json::array();
  for (const Explanation::StepLine& s : e.steps) {
    steps.push(Json::object(
        {{"donor", s.donor}, {"fate", name_of(s.fate)}, {"why", s.reason}, {"target", s.target}}));
  }
  for (const Explanation::FactorLine& f : e.factors) {
    factors.push(Json::object(
        {{"what", f.what}, {"donor", f.donor}, {"target", f.target}, {"rule", f.rule}}));
  }
  return Json::object({{"map", e.map},
                       {"donor_nest", e.donor_nest},
                       {"target_nest", e.target_nest},
                       {"donor_trace", e.donor_trace},
                       {"target_trace", e.target_trace},
                       {"steps", std::move(steps)},
                       {"numbers", std::move(factors)}});
}

class TransferVerb final : public Verb {
 public:
  std::string_view name() const override { return "transfer"; }
  std::string_view summary() const override {
    return "carry schedules over from records of other workloads, and explain how";
  }

  void declare(Options& options) override {
    task_.declare(options);
    options.text("--from", from_, "FILE", "records to take schedules from");
    options.text("--network", network_, "FILE", "all workloads of a network, a line each");
    options.integer("--seeds", seeds_, 1, 1000, "to show, the best first");
    options.flag("--others-only", others_only_, "leave out records of the workload itself");
    options.flag("--explain", explain_, "map, loop nests, steps and numbers of each seed");
    options.text("--html", html_, "FILE", "write the explanation as a page");
    options.flag("--json", json_, "one JSON object on standard output");
    options.flag("--quiet", quiet_, "no remarks on standard error");
  }

  Result<ExitCode> run(Console& console) override {
    console.quiet = quiet_;
    if (from_.empty()) return usage_error("--from is missing; expected a file of records");
    if (network_ && (explain_ || html_)) {
      return usage_error("--explain and --html are about one --workload, not a --network");
    }
    std::vector<Task> tasks;
    if (network_) {
      ESP_TRY(const Target target, task_.make_target());
      ESP_TRY(Network network, load_network(*network_, target, task_.threads()));
      for (NetworkTask& t : network.tasks) tasks.push_back(std::move(t.task));
    } else {
      ESP_TRY(Task task, task_.make_task());
      tasks.push_back(std::move(task));
    }
    ESP_TRY(const Database database, Database::open(from_));
    for (const std::string& warning : database.warnings()) console.warn(warning);
    const DonorIndex index(database);
    if (index.left_out() > 0) {
      console.note("note: " + std::to_string(index.left_out()) +
                   " records are of workloads that no longer read as they did");
    }
    TransferOptions options;
    options.seeds = static_cast<size_t>(seeds_);
    options.donors = std::max<size_t>(options.donors, options.seeds);
    options.same_program = !others_only_;
    if (network_) return show_network(tasks, index, options, console);
    const Seeds seeds = transfer(index, tasks[0], options);
    return show(tasks[0], index, seeds, console);
  }

 private:
  Result<ExitCode> show(const Task& task, const DonorIndex& index, const Seeds& seeds,
                        Console& console) const {
    const Database& database = index.database();
    std::vector<Explanation> explanations;
    if (explain_ || html_) {
      for (const TransferSeed& s : seeds.ranked) {
        explanations.push_back(explain(s, task, database));
      }
    }
    if (html_) {
      ESP_TRY_VOID(write_file(*html_, to_html(explanations, "Transfer to " + task_.workload())));
    }
    if (json_) {
      console.print(to_json(task, index, seeds, explanations).dump() + "\n");
      return kGood;
    }
    std::string text = task_.workload() + "\n" + std::to_string(database.records().size()) +
                       " records, workloads: " + std::to_string(index.donors().size()) +
                       ", seeds: " + std::to_string(seeds.ranked.size()) + "\n";
    double most = -HUGE_VAL;
    for (const TransferSeed& s : seeds.ranked) most = std::max(most, s.expected);
    for (size_t i = 0; i < seeds.ranked.size(); ++i) {
      const TransferSeed& s = seeds.ranked[i];
      const Fates fates = count(s);
      text += std::to_string(i + 1) + ". " + seeds.origins[i] + "\n   closeness " +
              format_fixed(s.closeness, 2) + ", extents " + format_fixed(s.distance, 2) +
              " powers of two apart; expected " + format_fixed(std::exp(most - s.expected), 2) +
              " times as long as the best";
      if (!s.steps.empty()) {
        text += "; steps: " + std::to_string(fates.kept) + " kept, " +
                std::to_string(fates.mended) + " mended, " + std::to_string(fates.dropped) +
                " dropped, " + std::to_string(fates.added) + " added";
      }
      text += "\n";
      if (explain_) text += "\n" + to_text(explanations[i]) + "\n";
    }
    for (size_t i = 0; i < std::min(seeds.declined.size(), kDeclinedShown); ++i) {
      const Declined& d = seeds.declined[i];
      text += "not from " + workload_of(database.records()[d.record]) + ": " + d.text + "\n";
    }
    if (seeds.declined.size() > kDeclinedShown) {
      text += "and " + std::to_string(seeds.declined.size() - kDeclinedShown) + " more\n";
    }
    console.print(text);
    return kGood;
  }

  Json to_json(const Task& task, const DonorIndex& index, const Seeds& seeds,
               const std::vector<Explanation>& explanations) const {
    const Database& database = index.database();
    Json ranked = Json::array(), declined = Json::array();
    for (size_t i = 0; i < seeds.ranked.size(); ++i) {
      const TransferSeed& s = seeds.ranked[i];
      const TuningRecord& r = database.records()[s.record];
      const Fates fates = count(s);
      Json seed = Json::object({{"level", name_of(s.map.level)},
                                {"road", name_of(s.road)},
                                {"closeness", s.closeness},
                                {"expected", s.expected},
                                {"distance", s.distance},
                                {"gain", s.gain},
                                {"donor", r.run.workload},
                                {"donor_target", r.run.target},
                                {"donor_threads", r.run.threads},
                                {"donor_trial", r.trial},
                                {"donor_us", r.result.time_us},
                                {"kept", fates.kept},
                                {"mended", fates.mended},
                                {"dropped", fates.dropped},
                                {"added", fates.added},
                                {"trace", to_string(s.candidate.trace(), task)}});
      if (i < explanations.size()) seed.set("explanation", as_json(explanations[i]));
      ranked.push(std::move(seed));
    }
    for (const Declined& d : seeds.declined) {
      declined.push(
          Json::object({{"donor", database.records()[d.record].run.workload}, {"why", d.text}}));
    }
    return Json::object({{"workload", task_.workload()},
                         {"target", to_string(task.target)},
                         {"threads", task.threads},
                         {"records", database.records().size()},
                         {"donors", index.donors().size()},
                         {"seeds", std::move(ranked)},
                         {"declined", std::move(declined)}});
  }

  Result<ExitCode> show_network(const std::vector<Task>& tasks, const DonorIndex& index,
                                const TransferOptions& options, Console& console) const {
    Json rows = Json::array();
    std::string text;
    std::map<std::string_view, int> by_level;
    for (const Task& task : tasks) {
      const Seeds seeds = transfer(index, task, options);
      const bool any = !seeds.ranked.empty();
      const std::string_view level = any ? name_of(seeds.ranked[0].map.level) : "none";
      ++by_level[level];
      rows.push(Json::object(
          {{"workload", task.workload},
           {"seeds", seeds.ranked.size()},
           {"level", level},
           {"donor",
            any ? Json(index.database().records()[seeds.ranked[0].record].run.workload) : Json()},
           {"declined", seeds.declined.size()}}));
      text += task.workload + "\n  " + std::to_string(seeds.ranked.size()) + " seeds" +
              (any ? ", first: " + seeds.origins[0] : std::string()) + "\n";
    }
    Json levels = Json::object();
    text += "workloads by level of the first seed:";
    for (const auto& [level, n] : by_level) {
      levels.set(level, n);
      text += " " + std::string(level) + " " + std::to_string(n) + ";";
    }
    text.back() = '\n';
    console.print(json_ ? Json::object({{"network", *network_},
                                        {"workloads", std::move(rows)},
                                        {"levels", std::move(levels)}})
                                  .dump() +
                              "\n"
                        : text);
    return kGood;
  }

  TaskOptions task_;
  std::string from_;
  std::optional<std::string> network_, html_;
  int64_t seeds_ = 8;
  bool others_only_ = false, explain_ = false, json_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_transfer_verb() { return std::make_unique<TransferVerb>(); }

}  // namespace espalier::cli
