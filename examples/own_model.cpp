// A cost model of one's own: it predicts that a candidate takes as long as the measured candidate
// nearest to it among those of the same sketch. It stands in for the boosted trees.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <limits>

#include "espalier/espalier.h"

using namespace espalier;

namespace {

class NearestNeighbour final : public CostModel {
 public:
  std::string_view name() const override { return "nearest_neighbour"; }

  // Higher is faster; -inf would say that a candidate cannot work.
  void score(const Task&, std::span<const Candidate> candidates, std::span<float> scores) override {
    for (size_t i = 0; i < candidates.size(); ++i) {
      double least = std::numeric_limits<double>::infinity(), score = kUnknown;
      for (const MeasuredRow& row : rows_) {
        if (row.candidate.sketch != candidates[i].sketch) continue;
        const double far = distance(row.candidate, candidates[i]);
        if (far >= least) continue;
        least = far;
        score = row.ok() ? -std::log(row.time_us) : kUnknown;
      }
      scores[i] = static_cast<float>(score);
    }
  }

  void update(std::span<const MeasuredRow> rows) override {
    rows_.insert(rows_.end(), rows.begin(), rows.end());
  }
  std::string save() const override { return "{}"; }  // what it knows is in the records
  Result<void> load(std::string_view) override { return {}; }

  size_t rows() const { return rows_.size(); }

 private:
  static constexpr double kUnknown = -20;  // slower than anything measured

  static double distance(const Candidate& a, const Candidate& b) {
    double sum = 0;
    for (size_t k = 0; k < a.decisions.size(); ++k) {
      sum += std::abs(std::log2((a.decisions[k] + 1.0) / (b.decisions[k] + 1.0)));
    }
    return sum;
  }

  std::vector<MeasuredRow> rows_;
};

Result<void> run(const std::string& own_program) {
  Task task{load_workload("matmul:m=60,n=70,k=80").value(), host_target(), 1, ""};
  MeasureOptions measuring;
  measuring.worker = own_program;
  ESP_TRY(const auto measurer, WorkerMeasurer::make(task, measuring, default_candidate));

  const auto model = std::make_shared<NearestNeighbour>();
  TuneOptions options;
  options.trials = 32;
  options.policy = "draft_verify";
  options.parts.verifier = model;
  ESP_TRY(const TuneReport report, tune(task, options, *measurer));
  std::printf("%zu candidates learnt, best %.1f us\n", model->rows(), report.best_us);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "worker") == 0) return run_worker(0, 1);
  const Result<void> done = run(argv[0]);
  if (!done.ok()) std::cerr << to_string(done.error()) << "\n";
  return done.ok() ? 0 : 1;
}
