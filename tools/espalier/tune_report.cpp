#include "tune_report.h"

#include <algorithm>

#include "command_line/table.h"
#include "espalier/support/json.h"
#include "espalier/support/number.h"

namespace espalier::cli {
namespace {

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
// A time is positive; zero stands for none.
Json positive_or_null(double value) { return value > 0 ? Json(value) : Json(); }

Json to_json(const PhaseSeconds& p) {
  return Json::object({{"sample", p.sample},
                       {"draft", p.draft},
                       {"features", p.features},
                       {"score", p.score},
                       {"fit", p.fit},
                       {"compile", p.compile},
                       {"measure", p.measure},
                       {"verify", p.verify},
                       {"other", p.other}});
}

Json to_json(const Task& task, const TuneRequest& request, const TuneReport& report) {
  const FailedCounts& f = report.failed;
  Json curve = Json::array();
  for (const CurvePoint& point : report.curve) {
    curve.push(Json::array({point.trial, point.seconds, point.best_us}));
  }
  const bool found = report.best.sketch != nullptr;
  return Json::object(
      {{"workload", request.workload},
       {"target", to_string(task.target)},
       {"threads", task.threads},
       {"policy", request.policy},
       {"seed", request.seed},
       {"trials", report.trials},
       {"failed",
        Json::object(
            {{"compile", f.compile}, {"run", f.run}, {"timeout", f.timeout}, {"wrong", f.wrong}})},
       {"seconds", report.seconds},
       {"stopped", name_of(report.stopped)},
       {"seconds_by_phase", to_json(report.seconds_by_phase)},
       {"naive_us", or_null(report.naive_us)},
       {"default_us", or_null(report.default_us)},
       {"best_us", positive_or_null(report.best_us)},
       {"best_gflops", positive_or_null(report.best_gflops)},
       {"max_error", report.max_error},
       {"verified", report.verified},
       {"curve", std::move(curve)},
       {"provenance", found ? Json(name_of(report.record.provenance)) : Json()},
       {"record", found ? parse_json(to_json_line(report.record)).value() : Json()}});
}

}  // namespace

std::string as_json(const Task& task, const TuneRequest& request, const TuneReport& report) {
  return to_json(task, request, report).dump() + "\n";
}

std::string as_json(const Network& network, const TuneRequest& request,
                    const NetworkReport& report) {
  Json tasks = Json::array();
  PhaseSeconds phases;
  for (size_t i = 0; i < report.tasks.size(); ++i) {
    TuneRequest one = request;
    one.workload = network.tasks[i].spec;
    Json task = to_json(network.tasks[i].task, one, report.tasks[i]);
    task.set("count", network.tasks[i].count);
    tasks.push(std::move(task));
    phases += report.tasks[i].seconds_by_phase;
  }
  phases.other = 0;
  phases.other = std::max(0.0, report.seconds - phases.total());
  const NetworkTask& first = network.tasks.front();
  return Json::object({{"network", network.name},
                       {"target", to_string(first.task.target)},
                       {"threads", first.task.threads},
                       {"policy", request.policy},
                       {"seed", request.seed},
                       {"trials", report.trials},
                       {"seconds", report.seconds},
                       {"stopped", name_of(report.stopped)},
                       {"seconds_by_phase", to_json(phases)},
                       {"default_us", report.default_us},
                       {"best_us", report.best_us},
                       {"tasks", std::move(tasks)}})
             .dump() +
         "\n";
}

std::string as_text(const Network& network, const TuneRequest& request,
                    const NetworkReport& report) {
  std::string text = network.name + ", " + std::to_string(network.tasks.size()) +
                     " tasks, policy " + request.policy + ", seed " + std::to_string(request.seed) +
                     "\n" + std::to_string(report.trials) + " candidates in " +
                     format_fixed(report.seconds, 1) + " s; stopped by " +
                     std::string(name_of(report.stopped)) + "\n";
  Table table({"workload", "count", "trials", "default us", "tuned us", "speed-up"},
              {1, 2, 3, 4, 5});
  auto add = [&](const std::string& name, int64_t count, int trials, double initial, double best) {
    table.add({name, std::to_string(count), std::to_string(trials), format_fixed(initial, 1),
               format_fixed(best, 1), best > 0 ? format_fixed(initial / best, 2) + "x" : "-"});
  };
  int64_t calls = 0;
  for (size_t i = 0; i < report.tasks.size(); ++i) {
    const TuneReport& one = report.tasks[i];
    calls += network.tasks[i].count;
    add(network.tasks[i].spec, network.tasks[i].count, one.trials, one.default_us.value_or(0),
        one.best_us);
  }
  add("all", calls, report.trials, report.default_us, report.best_us);
  text += table.text();
  if (!request.records.empty()) text += "recorded in " + request.records + "\n";
  return text;
}

std::string as_text(const Task& task, const TuneRequest& request, const TuneReport& report) {
  const double gflop = task.dag.flops() / 1e9;
  std::string text = request.workload + ", " + std::to_string(task.threads) +
                     (task.threads == 1 ? " thread" : " threads") + ", policy " + request.policy +
                     ", seed " + std::to_string(request.seed) + "\n";
  text += std::to_string(report.trials) + " candidates in " + format_fixed(report.seconds, 1) +
          " s, " + std::to_string(report.failed.total()) + " failed; stopped by " +
          std::string(name_of(report.stopped)) + "\n";
  if (report.best.sketch == nullptr) return text + "nothing was measured\n";

  Table table({"schedule", "us", "GFLOP/s", "speed-up"}, {1, 2, 3});
  auto add = [&](const std::string& name, const std::optional<double>& us) {
    if (!us) {
      table.add({name, "-", "-", "-"});
      return;
    }
    table.add({name, format_fixed(*us, 1), format_fixed(gflop / *us * 1e6, 1),
               report.default_us ? format_fixed(*report.default_us / *us, 2) + "x" : "-"});
  };
  add("naive", report.naive_us);
  add("default", report.default_us);
  add("tuned", report.best_us);
  text += table.text();
  text += "tuned is candidate " + std::to_string(report.record.trial) + ", " +
          std::string(name_of(report.record.provenance)) + "; checked, largest error " +
          rounded(report.max_error) + "\n";
  if (!request.records.empty()) text += "recorded in " + request.records + "\n";
  return text;
}

}  // namespace espalier::cli
