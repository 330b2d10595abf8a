// judge: how well cost models that have measured nothing order recorded candidates.
//
//   judge [--model analyzer|pruner|random|recorded] [--device TEXT] [--without TERM] [--each]
//         [--json FILE] records.jsonl ...
//
// For each task: Spearman's rank correlation, the share of pairs in the right order, and the best
// of what is drafted over the best of all when 1% and 5% are drafted, beside the same of a random
// draft. Deterministic: without --device, data sheets say what the machine can do. --without takes
// a term out of the analyzer: its quantity is made so large that it costs nothing.
#include <cstdio>

#include "espalier/cost_model/analyzer.h"
#include "espalier/support/fd.h"
#include "espalier/support/json.h"
#include "espalier/support/number.h"
#include "models/pool/metrics.h"
#include "models/pool/pool.h"
#include "models/pool/program.h"
#include "models/pool/pruner_formulas.h"

namespace espalier::bench {
namespace {

struct Arguments {
  std::vector<std::string> files;
  std::string model = "analyzer";
  std::string device, json, without = "nothing";
  bool each = false;
};

const std::vector<std::string> kTerms = {"nothing", "compute", "loads",  "stores", "latency",
                                         "l2",      "l3",      "memory", "traffic"};

// Makes what a term is divided by so large, or what it is multiplied by so small, that it vanishes.
void take_out(const std::string& term, DeviceModel* device) {
  constexpr double kHuge = 1e9;
  const bool traffic = term == "traffic";
  if (term == "compute") device->fma_ports *= kHuge;
  if (term == "loads") device->load_ports *= kHuge;
  if (term == "stores") device->store_ports *= kHuge;
  if (term == "latency") device->fma_latency /= kHuge;
  if (term == "l2" || traffic) device->l2_bandwidth *= kHuge;
  if (term == "l3" || traffic) device->l3_bandwidth *= kHuge;
  if (term == "memory" || traffic) device->dram_bandwidth *= kHuge;
}

// The device of a task's pool.
Result<DeviceModel> device_of(const Arguments& arguments, const Target& target) {
  ESP_TRY(DeviceModel device,
          arguments.device.empty() ? data_sheet(target) : parse_device_model(arguments.device));
  take_out(arguments.without, &device);
  return device;
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

Result<void> judge(const Arguments& arguments) {
  ESP_TRY(const std::vector<Pool> pools, read_pools(arguments.files));
  std::vector<double> columns[6];
  Json all = Json::array();
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
    all.push(Json::object({{"workload", pool.task.workload},
                           {"family", pool.family()},
                           {"candidates", pool.times.size()},
                           {"spearman", row[0]},
                           {"pairs", row[1]},
                           {"clear_pairs", pair_accuracy(scores, pool.times, kClear)},
                           {"best_1", row[2]},
                           {"random_1", row[3]},
                           {"best_5", row[4]},
                           {"random_5", row[5]}}));
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
  return arguments.json.empty() ? Result<void>() : write_file(arguments.json, all.dump() + "\n");
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
  options.choice("--without", arguments.without, bench::kTerms, "term of the analyzer (nothing)");
  options.flag("--each", arguments.each, "print every candidate");
  options.text("--json", arguments.json, "FILE", "write an object a task");
  options.positionals("FILE", arguments.files, "files of tuning records");
  return bench::run_program(options, argc, argv, [&] { return bench::judge(arguments); });
}
