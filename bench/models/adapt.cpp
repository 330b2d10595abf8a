// adapt: how well the learned model orders candidates of a task of which it has seen a few.
//
//   adapt [--device TEXT] [--repeats N] [--features ours|ansor] [--csv PREFIX]
//         records.jsonl ...
//
// For each task, a base model is trained on all others; then each arm sees so many random
// candidates of the task and orders the rest. Printed: the mean over tasks and draws of the share
// of pairs in the right order, with the half width of its 95% interval over tasks. --csv also
// writes PREFIX-train.csv and PREFIX-test.csv, a random half of the rows each, for
// compare_gbdt.py. Deterministic.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <numeric>

#include "command_line/exit_code.h"
#include "command_line/options.h"
#include "espalier/cost_model/ansor_features.h"
#include "espalier/cost_model/features.h"
#include "espalier/cost_model/learned_model.h"
#include "espalier/support/fd.h"
#include "espalier/support/number.h"
#include "models/pool/metrics.h"
#include "models/pool/pool.h"

namespace espalier::bench {
namespace {

struct Arguments {
  std::vector<std::string> files;
  std::string device, features = "ours", csv;
  int64_t repeats = 3, threads = 1;
};

// Features of candidates that have been asked for before are looked up.
class CachedFeatures final : public FeatureSource {
 public:
  using Rows = std::map<std::pair<uint64_t, uint64_t>, std::vector<float>>;
  CachedFeatures(const FeatureSource& source, Rows& rows) : source_(source), rows_(rows) {}

  std::span<const std::string> names() const override { return source_.names(); }
  void extract(const Task& task, std::span<const Candidate> candidates, int threads,
               std::span<float> values, std::span<float> margins) const override {
    const size_t columns = names().size();
    const uint64_t key = task_key(task);
    for (size_t i = 0; i < candidates.size(); ++i) {
      std::vector<float>& row = rows_[{key, candidates[i].hash()}];
      if (row.empty()) {
        row.resize(columns + 1);
        const std::span<float> all(row);
        source_.extract(task, candidates.subspan(i, 1), threads, all.first(columns), all.last(1));
      }
      std::copy_n(row.begin(), columns, values.begin() + static_cast<ptrdiff_t>(i * columns));
      margins[i] = row[columns];
    }
  }

 private:
  const FeatureSource& source_;
  Rows& rows_;
};

struct Arm {
  const char* name;
  Adaptation adaptation;
  bool base;
  double fixed_share = -1;
};
constexpr Arm kArms[] = {
    {"margin alone", Adaptation::Frozen, false},
    {"scratch", Adaptation::Scratch, false},
    {"frozen base", Adaptation::Frozen, true},
    {"base + delta", Adaptation::Delta, true},
    {"refit, fixed 0.9", Adaptation::Refit, true, 0.9},
    {"refit by evidence", Adaptation::Refit, true},
    {"refit + delta", Adaptation::RefitDelta, true},
    {"joint", Adaptation::Scratch, true},
};
constexpr size_t kSamples[] = {0, 16, 32, 64, 128, 256};

class Study {
 public:
  Study(const Arguments& arguments, std::vector<Pool> pools, const DeviceModel& device)
      : arguments_(arguments),
        pools_(std::move(pools)),
        source_(arguments.features == "ansor" ? make_ansor_features() : make_features(device)) {}

  void run();
  Result<void> write_csv();

 private:
  std::unique_ptr<CostModel> make(const Arm& arm) {
    LearnedModelOptions options;
    options.adaptation = arm.adaptation;
    options.refit.fixed_share = arm.fixed_share;
    options.threads = static_cast<int>(arguments_.threads);
    return make_learned_model(std::make_unique<CachedFeatures>(*source_, rows_), options).value();
  }
  std::vector<MeasuredRow> rows_of(const Pool& pool, std::span<const size_t> chosen) const {
    std::vector<MeasuredRow> rows;
    for (size_t i : chosen) {
      const double time = pool.times[i];
      rows.push_back({&pool.task, pool.candidates[i], std::isfinite(time) ? time : 0});
    }
    return rows;
  }
  std::vector<MeasuredRow> all_but(size_t left_out) const;
  double accuracy(const Arm& arm, const std::string& base, std::span<const MeasuredRow> others,
                  const Pool& pool, std::span<const size_t> seen, std::span<const size_t> rest);

  const Arguments& arguments_;
  std::vector<Pool> pools_;
  std::unique_ptr<FeatureSource> source_;
  CachedFeatures::Rows rows_;
};

std::vector<MeasuredRow> Study::all_but(size_t left_out) const {
  std::vector<MeasuredRow> rows;
  for (size_t p = 0; p < pools_.size(); ++p) {
    if (p == left_out) continue;
    std::vector<size_t> all(pools_[p].candidates.size());
    std::iota(all.begin(), all.end(), size_t{0});
    for (MeasuredRow& row : rows_of(pools_[p], all)) rows.push_back(std::move(row));
  }
  return rows;
}

double Study::accuracy(const Arm& arm, const std::string& base, std::span<const MeasuredRow> others,
                       const Pool& pool, std::span<const size_t> seen,
                       std::span<const size_t> rest) {
  const std::unique_ptr<CostModel> model = make(arm);
  std::vector<MeasuredRow> rows;
  if (arm.base && arm.adaptation != Adaptation::Scratch) {
    model->load(base).value();
  } else if (arm.base) {
    rows.assign(others.begin(), others.end());
  }
  for (MeasuredRow& row : rows_of(pool, seen)) rows.push_back(std::move(row));
  model->update(rows);
  std::vector<Candidate> candidates;
  std::vector<double> times;
  for (size_t i : rest) {
    candidates.push_back(pool.candidates[i]);
    times.push_back(pool.times[i]);
  }
  std::vector<float> scores(candidates.size());
  model->score(pool.task, candidates, scores);
  return pair_accuracy(scores, times);
}

void Study::run() {
  // By arm and number of samples, one accuracy a task.
  std::map<std::pair<size_t, size_t>, std::vector<double>> results;
  for (size_t p = 0; p < pools_.size(); ++p) {
    const Pool& pool = pools_[p];
    const std::vector<MeasuredRow> others = all_but(p);
    const std::unique_ptr<CostModel> base_model = make({"base", Adaptation::Scratch, false});
    base_model->update(others);
    const std::string base = base_model->save();
    for (size_t a = 0; a < std::size(kArms); ++a) {
      for (size_t samples : kSamples) {
        double sum = 0;
        const int64_t repeats = arguments_.repeats;
        for (int64_t repeat = 0; repeat < repeats; ++repeat) {
          std::vector<size_t> order(pool.candidates.size());
          std::iota(order.begin(), order.end(), size_t{0});
          Rng(static_cast<uint64_t>(repeat)).shuffle(order);
          // At least 32 are left to be ordered.
          const size_t cut = std::min(samples, order.size() - std::min<size_t>(order.size(), 32));
          const std::span<const size_t> all(order);
          sum += accuracy(kArms[a], base, others, pool, all.first(cut), all.subspan(cut));
        }
        results[{a, samples}].push_back(sum / static_cast<double>(repeats));
      }
    }
    std::fprintf(stderr, "%zu of %zu: %s\n", p + 1, pools_.size(), pool.task.workload.c_str());
  }
  std::printf("%-20s", "samples");
  for (size_t samples : kSamples) std::printf(" %12zu", samples);
  for (size_t a = 0; a < std::size(kArms); ++a) {
    std::printf("\n%-20s", kArms[a].name);
    for (size_t samples : kSamples) {
      const std::vector<double>& r = results[{a, samples}];
      const double centre = mean(r);
      double squares = 0;
      for (double x : r) squares += (x - centre) * (x - centre);
      const double n = static_cast<double>(r.size());
      const double half = n > 1 ? 1.96 * std::sqrt(squares / (n - 1) / n) : 0;
      std::printf(" %.3f +- %.3f", centre, half);
    }
  }
  std::printf("\n");
}

Result<void> Study::write_csv() {
  std::string header = "label,group,margin";
  for (const std::string& name : source_->names()) header += "," + name;
  std::string halves[2] = {header + "\n", header + "\n"};
  const CachedFeatures cached(*source_, rows_);
  const size_t columns = source_->names().size();
  Rng rng(1);
  for (size_t p = 0; p < pools_.size(); ++p) {
    const Pool& pool = pools_[p];
    const std::vector<uint32_t> groups(pool.times.size(), static_cast<uint32_t>(p));
    const Labels labels = make_labels(groups, pool.times, {});
    std::vector<float> values(pool.times.size() * columns), margins(pool.times.size());
    cached.extract(pool.task, pool.candidates, 1, values, margins);
    for (size_t i = 0; i < pool.times.size(); ++i) {
      if (!std::isfinite(margins[i])) continue;
      std::string& half = halves[rng.below(2)];
      half +=
          format_float(labels.labels[i]) + "," + std::to_string(p) + "," + format_float(margins[i]);
      for (size_t j = 0; j < columns; ++j) {
        const float value = values[i * columns + j];
        half += std::isnan(value) ? "," : "," + format_float(value);
      }
      half += "\n";
    }
  }
  ESP_TRY_VOID(write_file(arguments_.csv + "-train.csv", halves[0]));
  return write_file(arguments_.csv + "-test.csv", halves[1]);
}

Result<void> adapt(const Arguments& arguments) {
  ESP_TRY(std::vector<Pool> pools, read_pools(arguments.files));
  if (pools.size() < 2) {
    return make_error(ErrorCode::InvalidArgument, "the files hold ", pools.size(),
                      " tasks; a base and a task to adapt to need at least 2");
  }
  ESP_TRY(const DeviceModel device, arguments.device.empty()
                                        ? data_sheet(pools[0].task.target)
                                        : parse_device_model(arguments.device));
  Study study(arguments, std::move(pools), device);
  if (!arguments.csv.empty()) return study.write_csv();
  study.run();
  return {};
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier;
  bench::Arguments arguments;
  cli::Options options("adapt", "how well the learned model orders a task it has seen little of");
  options.text("--device", arguments.device, "TEXT",
               "what the machine can do, as espalier prints it (default: data sheets)");
  options.choice("--features", arguments.features, {"ours", "ansor"}, "which columns (ours)");
  options.integer("--repeats", arguments.repeats, 1, 1000, "draws of samples a task");
  options.integer("--threads", arguments.threads, 1, 1024, "for training and scoring");
  options.text("--csv", arguments.csv, "PREFIX", "write tables for compare_gbdt.py and stop");
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
  const Result<void> done = bench::adapt(arguments);
  if (!done.ok()) {
    std::cerr << done.error().message << "\n";
    return cli::exit_code(done.error());
  }
  return cli::kGood;
}
