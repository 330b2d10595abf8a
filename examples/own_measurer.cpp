// A measurer of one's own: a simulator. Here the analyzer's closed form stands for the machine, so
// nothing is compiled and the search takes milliseconds; a board at the end of a cable would be
// asked in the same place.
#include <cmath>
#include <cstdio>
#include <iostream>

#include "espalier/espalier.h"

using namespace espalier;

namespace {

class Simulator final : public Measurer {
 public:
  explicit Simulator(const Task& task)
      : task_(task), device_(data_sheet(task.target)), model_(make_analyzer(device_)) {}

  std::vector<MeasureResult> measure(std::span<const Candidate> batch, double) override {
    std::vector<float> scores(batch.size());
    model_->score(task_, batch, scores);
    std::vector<MeasureResult> results(batch.size());
    for (size_t i = 0; i < batch.size(); ++i) {
      if (!std::isfinite(scores[i])) {
        results[i].status = MeasureStatus::CompileError;
        results[i].error = "the schedule does not apply";
        continue;
      }
      // Scores are -log(cycles).
      const double cycles = std::exp(-static_cast<double>(scores[i]));
      results[i].status = MeasureStatus::Ok;
      results[i].time_us = cycles / device_.frequency_hz * 1e6;
      results[i].times_us = {results[i].time_us};
    }
    return results;
  }

  // Times of the final comparison: one row a candidate, one entry a round.
  Result<std::vector<std::vector<double>>> interleave(std::span<const Candidate> candidates,
                                                      int rounds) override {
    std::vector<std::vector<double>> times;
    for (const MeasureResult& r : measure(candidates, 0)) {
      times.emplace_back(static_cast<size_t>(rounds), r.time_us);
    }
    return times;
  }

 private:
  Task task_;
  DeviceModel device_;
  std::unique_ptr<CostModel> model_;
};

}  // namespace

int main() {
  const Task task{load_workload("matmul:m=512,n=512,k=512").value(), host_target(), 1, ""};
  Simulator simulator(task);
  TuneOptions options;
  options.trials = 300;
  options.measure_naive = false;
  const Result<TuneReport> report = tune(task, options, simulator);
  if (!report.ok()) {
    std::cerr << to_string(report.error()) << "\n";
    return 1;
  }
  std::printf("default %.1f us, best %.1f us by the simulator, in %.2f s\n",
              report->default_us.value_or(0), report->best_us, report->seconds);
  return 0;
}
