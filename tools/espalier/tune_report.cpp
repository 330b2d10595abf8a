#include "tune_report.h"

#include "command_line/table.h"
#include "espalier/support/json.h"
#include "espalier/support/number.h"

namespace espalier::cli {
namespace {

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
// A time is positive; zero stands for none.
Json positive_or_null(double value) { return value > 0 ? Json(value) : Json(); }

}  // namespace

std::string as_json(const Task& task, const TuneRequest& request, const TuneReport& report) {
  const PhaseSeconds& p = report.seconds_by_phase;
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
              {"failed", Json::object({{"compile", f.compile},
                                       {"run", f.run},
                                       {"timeout", f.timeout},
                                       {"wrong", f.wrong}})},
              {"seconds", report.seconds},
              {"stopped", name_of(report.stopped)},
              {"seconds_by_phase", Json::object({{"sample", p.sample},
                                                 {"draft", p.draft},
                                                 {"features", p.features},
                                                 {"score", p.score},
                                                 {"fit", p.fit},
                                                 {"compile", p.compile},
                                                 {"measure", p.measure},
                                                 {"verify", p.verify},
                                                 {"other", p.other}})},
              {"naive_us", or_null(report.naive_us)},
              {"default_us", or_null(report.default_us)},
              {"best_us", positive_or_null(report.best_us)},
              {"best_gflops", positive_or_null(report.best_gflops)},
              {"max_error", report.max_error},
              {"verified", report.verified},
              {"curve", std::move(curve)},
              {"provenance", found ? Json(name_of(report.record.provenance)) : Json()},
              {"record", found ? parse_json(to_json_line(report.record)).value() : Json()}})
             .dump() +
         "\n";
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
          format_double(report.max_error) + "\n";
  if (!request.records.empty()) text += "recorded in " + request.records + "\n";
  return text;
}

}  // namespace espalier::cli
