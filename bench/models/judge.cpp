// judge: how well cost models that have measured nothing order recorded candidates.
//
//   judge [--model analyzer|pruner|random|recorded] [--device TEXT] [--each] records.jsonl ...
//
// For each task: Spearman's rank correlation, the share of pairs in the right order, and the best
// of what is drafted over the best of all when 1% and 5% are drafted, beside the same of a random
// draft. Deterministic: without --device, data sheets say what the machine can do; a quantity that
// is made huge (or tiny) there takes its term out of the analyzer.
#include <cstdio>
#include <iostream>

#include "command_line/exit_code.h"
#include "command_line/options.h"
#include "espalier/cost_model/analyzer.h"
#include "espalier/support/number.h"
#include "models/pool/metrics.h"
#include "models/pool/pool.h"
#include "models/pool/pruner_formulas.h"

namespace espalier::bench {
namespace {

struct Arguments {
  std::vector<std::string> files;
  std::string model = "analyzer";
  std::string device;
  bool each = false;
};

// The device of a task's pool.
Result<DeviceModel> device_of(const Arguments& arguments, const Target& target) {
  if (arguments.device.empty()) return data_sheet(target);
  return parse_device_model(arguments.device);
}

std::unique_ptr<CostModel> make_model(const Arguments& arguments, const Pool& pool,
                                      const DeviceModel& device) {
  if (arguments.model == "random") return make_random_model(0);
  if (arguments.model == "analyzer") return make_analyzer(device);
  if (arguments.model == "pruner") return make_pruner_formulas(device);
  auto oracle = make_recorded_model();
  std::vector<MeasuredRow> rows;
  for (size_t i = 0; i < pool.candidates.size(); ++i) {
    rows.push_back({&pool.task, pool.candidates[i], pool.times[i]});
  }
  oracle->update(rows);
  return oracle;
}

std::string share(double value) { return format_fixed(value, 3); }

Result<int> judge(const Arguments& arguments) {
  ESP_TRY(const std::vector<Pool> pools, read_pools(arguments.files));
  std::vector<double> columns[6];
  std::printf("%-62s %5s %8s %6s %7s %7s %7s %7s\n", "workload", "n", "spearman", "pairs",
              "best@1%", "random", "best@5%", "random");
  for (const Pool& pool : pools) {
    ESP_TRY(const DeviceModel device, device_of(arguments, pool.task.target));
    const std::unique_ptr<CostModel> model = make_model(arguments, pool, device);
    std::vector<float> scores(pool.candidates.size());
    model->score(pool.task, pool.candidates, scores);
    const double row[] = {spearman(scores, pool.times),
                          pair_accuracy(scores, pool.times),
                          best_of_draft(scores, pool.times, 0.01),
                          best_of_random_draft(pool.times, 0.01),
                          best_of_draft(scores, pool.times, 0.05),
                          best_of_random_draft(pool.times, 0.05)};
    for (size_t k = 0; k < 6; ++k) columns[k].push_back(row[k]);
    std::printf("%-62.62s %5zu %8s %6s %7s %7s %7s %7s\n", pool.task.workload.c_str(),
                pool.times.size(), share(row[0]).c_str(), share(row[1]).c_str(),
                share(row[2]).c_str(), share(row[3]).c_str(), share(row[4]).c_str(),
                share(row[5]).c_str());
    if (!arguments.each) continue;
    for (size_t i = 0; i < scores.size(); ++i) {
      std::printf("  %zu time %.1f us, score %.4f\n", i, pool.times[i],
                  static_cast<double>(scores[i]));
    }
  }
  std::printf("%-62s %5s %8s %6s %7s %7s %7s %7s\n", "mean", "", share(mean(columns[0])).c_str(),
              share(mean(columns[1])).c_str(), share(mean(columns[2])).c_str(),
              share(mean(columns[3])).c_str(), share(mean(columns[4])).c_str(),
              share(mean(columns[5])).c_str());
  return 0;
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier;
  bench::Arguments arguments;
  cli::Options options("judge", "how well a cost model orders measured candidates");
  options.choice("--model", arguments.model, {"analyzer", "pruner", "random", "recorded"},
                 "which model (analyzer)");
  options.text("--device", arguments.device, "TEXT",
               "what the machine can do, as espalier prints it (default: data sheets)");
  options.flag("--each", arguments.each, "print every candidate");
  options.positionals("FILE", arguments.files, "files of tuning records");
  const Result<bool> go_on = options.parse(std::span<const char* const>(argv + 1, argv + argc));
  if (!go_on.ok()) {
    std::cerr << go_on.error().message << "\n";
    return cli::kWrongUsage;
  }
  if (!*go_on) {
    std::cout << options.help();
    return cli::kGood;
  }
  const Result<int> status = bench::judge(arguments);
  if (!status.ok()) {
    std::cerr << status.error().message << "\n";
    return cli::kFailed;
  }
  return *status;
}
