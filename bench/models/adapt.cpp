// adapt: how well the learned model orders candidates of a task of which it has seen a few.
//
//   adapt [--device TEXT] [--repeats N] [--features ours|ansor] [--without REGEX] [--arms NAMES]
//         [--unseen task|family] [--base-from FILE] [--json FILE] [--csv PREFIX] records.jsonl ...
//
// For each task, a base model is trained on all others, or on those of other families, or on the
// records of another machine or target, the same tasks among them; then each arm sees so many
// random candidates of the task and orders the rest. Printed: the mean over tasks and draws of the
// share of pairs in the right order, with the half width of its 95% interval over tasks; --json
// writes the single values, and those of pairs that differ by more than noise. Tasks with fewer
// than 64 candidates are passed over: their spaces can be measured whole. --csv writes
// PREFIX-train.csv and PREFIX-test.csv, a random half of the rows each, for compare_gbdt.py, and
// stops. Deterministic, but for --clock.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>

#include "espalier/cost_model/ansor_features.h"
#include "espalier/cost_model/features.h"
#include "espalier/cost_model/learned_model.h"
#include "espalier/search/sketch_space.h"
#include "espalier/search/slots.h"
#include "espalier/support/fd.h"
#include "espalier/support/json.h"
#include "espalier/support/number.h"
#include "models/pool/base_training.h"
#include "models/pool/cached_features.h"
#include "models/pool/metrics.h"
#include "models/pool/program.h"

namespace espalier::bench {
namespace {

struct Arguments {
  bool clock = false;
  std::vector<std::string> files;
  std::string device, features = "ours", without, arms, unseen = "task", base_from, csv, json;
  int64_t repeats = 3, threads = 1;
};

struct Arm {
  const char* name;
  Adaptation adaptation;
  bool base;
  double fixed_share = -1;
  bool trees = true;  // beside those of a base
};
constexpr Arm kArms[] = {
    {"margin", Adaptation::Frozen, false},
    {"calibrated", Adaptation::Scratch, false, -1, false},
    {"scratch", Adaptation::Scratch, false},
    {"frozen", Adaptation::Frozen, true},
    {"base_calibrated", Adaptation::Delta, true, -1, false},
    {"delta", Adaptation::Delta, true},
    {"fixed", Adaptation::Refit, true, 0.9},
    {"evidence", Adaptation::Refit, true},
    {"evidence_delta", Adaptation::RefitDelta, true},
    {"joint", Adaptation::Scratch, true},
};
constexpr size_t kFewest = 64;  // candidates of a task
constexpr size_t kSamples[] = {0, 8, 16, 32, 64, 128, 256};

class Study {
 public:
  Study(const Arguments& arguments, std::vector<Pool> pools, const DeviceModel& device)
      : arguments_(arguments),
        pools_(std::move(pools)),
        source_(arguments.features == "ansor" ? make_ansor_features() : make_features(device)) {
    std::erase_if(pools_, [](const Pool& pool) { return pool.candidates.size() < kFewest; });
  }

  // The base is to know these pools of another device and no others.
  void take_base_from(std::vector<Pool> pools, const DeviceModel& device);
  Result<void> run();
  void clock();
  static std::vector<Candidate> round_of(const Task& task, size_t structures);
  double time_round(const std::string& base, const Pool& pool,
                    std::span<const Candidate> candidates) const;
  Result<void> write_csv();

 private:
  std::unique_ptr<CostModel> make(const Arm& arm) {
    LearnedModelOptions options;
    options.adaptation = arm.adaptation;
    options.refit.fixed_share = arm.fixed_share;
    if (!arm.trees) options.scratch.trees = options.delta.trees = 0;
    return make(options);
  }
  std::unique_ptr<CostModel> make(LearnedModelOptions options) {
    options.threads = static_cast<int>(arguments_.threads);
    auto features = std::make_unique<CachedFeatures>(*source_, rows_, arguments_.without);
    return make_learned_model(std::move(features), options).value();
  }
  std::vector<MeasuredRow> all_but(size_t left_out) const;
  struct Accuracy {
    double pairs = 0, clear_pairs = 0, spearman = 0, best_1 = 0;
  };
  Accuracy accuracy(const Arm& arm, const std::string& base, std::span<const MeasuredRow> others,
                    const Pool& pool, std::span<const size_t> seen, std::span<const size_t> rest);
  bool wanted(const Arm& arm) const {
    return arguments_.arms.empty() ||
           ("," + arguments_.arms + ",").find("," + std::string(arm.name) + ",") !=
               std::string::npos;
  }

  const Arguments& arguments_;
  std::vector<Pool> pools_;
  std::vector<Pool> elsewhere_;  // what the base knows, if not other tasks
  std::unique_ptr<FeatureSource> source_;
  FeatureRows rows_;
};

void Study::take_base_from(std::vector<Pool> pools, const DeviceModel& device) {
  elsewhere_ = std::move(pools);
  if (arguments_.features == "ansor") return;  // these columns know no device
  const std::unique_ptr<FeatureSource> source = make_features(device);
  const CachedFeatures cached(*source, rows_);
  for (const Pool& pool : elsewhere_) {
    std::vector<float> values(pool.candidates.size() * source->names().size());
    std::vector<float> margins(pool.candidates.size());
    cached.extract(pool.task, pool.candidates, 1, values, margins);
  }
}

// What a base may know that is to be tested on the task.
std::vector<MeasuredRow> Study::all_but(size_t left_out) const {
  std::vector<MeasuredRow> rows;
  for (const Pool& pool : elsewhere_) {
    for (MeasuredRow& row : rows_of(pool)) rows.push_back(std::move(row));
  }
  if (!elsewhere_.empty()) return rows;
  for (size_t p = 0; p < pools_.size(); ++p) {
    const bool kin = pools_[p].family() == pools_[left_out].family();
    if (p == left_out || (kin && arguments_.unseen == "family")) continue;
    for (MeasuredRow& row : rows_of(pools_[p])) rows.push_back(std::move(row));
  }
  return rows;
}

Study::Accuracy Study::accuracy(const Arm& arm, const std::string& base,
                                std::span<const MeasuredRow> others, const Pool& pool,
                                std::span<const size_t> seen, std::span<const size_t> rest) {
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
  return {pair_accuracy(scores, times), pair_accuracy(scores, times, kClear),
          spearman(scores, times), best_of_draft(scores, times, 0.01)};
}

Result<void> Study::run() {
  // By arm and number of samples, one accuracy a task.
  std::map<std::pair<size_t, size_t>, std::vector<double>> results;
  Json all = Json::array();
  std::map<std::string, std::string> bases;  // by what they have not seen
  for (size_t p = 0; p < pools_.size(); ++p) {
    const Pool& pool = pools_[p];
    const std::vector<MeasuredRow> others = all_but(p);
    std::string& base = bases[!elsewhere_.empty()             ? ""
                              : arguments_.unseen == "family" ? pool.family()
                                                              : pool.task.workload];
    if (base.empty()) {
      const std::unique_ptr<CostModel> base_model = make(base_training());
      base_model->update(others);
      base = base_model->save();
    }
    for (size_t a = 0; a < std::size(kArms); ++a) {
      if (!wanted(kArms[a])) continue;
      for (size_t samples : kSamples) {
        double sum = 0;
        const int64_t repeats = arguments_.repeats;
        for (int64_t repeat = 0; repeat < repeats; ++repeat) {
          std::vector<size_t> order(pool.candidates.size());
          std::iota(order.begin(), order.end(), size_t{0});
          Rng(static_cast<uint64_t>(repeat)).shuffle(order);
          // At least 32 are left to be ordered.
          const size_t cut = std::min(samples, order.size() - 32);
          const std::span<const size_t> whole(order);
          const Accuracy found =
              accuracy(kArms[a], base, others, pool, whole.first(cut), whole.subspan(cut));
          sum += found.pairs;
          all.push(Json::object({{"arm", kArms[a].name},
                                 {"samples", samples},
                                 {"workload", pool.task.workload},
                                 {"family", pool.family()},
                                 {"draw", repeat},
                                 {"pairs", found.pairs},
                                 {"clear_pairs", found.clear_pairs},
                                 {"spearman", found.spearman},
                                 {"best_1", found.best_1}}));
        }
        results[{a, samples}].push_back(sum / static_cast<double>(repeats));
      }
    }
    std::fprintf(stderr, "%zu of %zu: %s\n", p + 1, pools_.size(), pool.task.workload.c_str());
  }
  std::printf("%-20s", "samples");
  for (size_t samples : kSamples) std::printf(" %12zu", samples);
  for (size_t a = 0; a < std::size(kArms); ++a) {
    if (!wanted(kArms[a])) continue;
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
  return arguments_.json.empty() ? Result<void>() : write_file(arguments_.json, all.dump() + "\n");
}

// A thousand candidates: numbers drawn for the structure that the rules prefer and for others drawn
// at random, so many in all.
std::vector<Candidate> Study::round_of(const Task& task, size_t structures) {
  const SketchSpace space(task);
  std::vector<StructurePtr> drawn = {space.preferred()};
  Rng rng(1);
  while (drawn.size() < structures) {
    if (StructurePtr next = space.draw(rng, 0.5)) drawn.push_back(std::move(next));
  }
  std::vector<Candidate> candidates;
  for (size_t i = 0; candidates.size() < 1000; ++i) {
    auto next = draw_numbers(task, *drawn[i % drawn.size()], rng, 0);
    if (next) candidates.push_back(std::move(*next));
  }
  return candidates;
}

// What a round of a search pays: 8 new rows, a fit to all 256, and the scoring of 1,000 candidates,
// features and their formulas included, from a base; the least of the repeats, in milliseconds.
double Study::time_round(const std::string& base, const Pool& pool,
                         std::span<const Candidate> candidates) const {
  const auto now = [] {
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  std::vector<float> scores(candidates.size());
  std::vector<size_t> seen(std::min<size_t>(256, pool.candidates.size()));
  std::iota(seen.begin(), seen.end(), size_t{0});
  const std::vector<MeasuredRow> measured = rows_of(pool, seen);
  const std::span<const MeasuredRow> all(measured);
  double least = INFINITY;
  for (int64_t repeat = 0; repeat < arguments_.repeats; ++repeat) {
    LearnedModelOptions options;
    options.threads = static_cast<int>(arguments_.threads);
    const std::unique_ptr<CostModel> model =
        make_learned_model(make_features(data_sheet(pool.task.target)), options).value();
    model->load(base).value();
    model->update(all.first(all.size() - 8));
    const double start = now();
    model->update(all.last(8));
    model->score(pool.task, candidates, scores);
    least = std::min(least, now() - start);
  }
  return least;
}

// With as many structures as a round draws, and with one a candidate, for the tasks where it is
// longest.
void Study::clock() {
  const std::unique_ptr<CostModel> base_model = make(base_training());
  std::vector<MeasuredRow> rows;
  for (const Pool& pool : pools_) {
    for (MeasuredRow& row : rows_of(pool)) rows.push_back(std::move(row));
  }
  base_model->update(rows);
  const std::string base = base_model->save();
  for (const size_t structures : {25, 1000}) {
    double worst = 0;
    std::string of;
    for (const Pool& pool : pools_) {
      const double time = time_round(base, pool, round_of(pool.task, structures));
      std::fprintf(stderr, "%6.1f ms: %s\n", time, pool.task.workload.c_str());
      if (time > worst) of = pool.task.workload;
      worst = std::max(worst, time);
    }
    std::printf("%.1f ms where they are of %zu structures, at most (%s)\n", worst, structures,
                of.c_str());
  }
}

Result<void> Study::write_csv() {
  std::string header = "label,group,margin";
  for (const std::string& name : source_->names()) header += "," + name;
  std::string halves[2] = {header + "\n", header + "\n"};
  const CachedFeatures cached(*source_, rows_, arguments_.without);
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
  const auto device_of = [&](const Pool& pool) -> Result<DeviceModel> {
    if (arguments.device.empty()) return data_sheet(pool.task.target);
    return parse_device_model(arguments.device);
  };
  ESP_TRY(const DeviceModel device, device_of(pools[0]));
  Study study(arguments, std::move(pools), device);
  if (!arguments.base_from.empty()) {
    ESP_TRY(std::vector<Pool> others, read_pools({arguments.base_from}));
    if (others.empty()) {
      return make_error(ErrorCode::InvalidArgument, arguments.base_from, " holds no records");
    }
    const DeviceModel other_device = data_sheet(others[0].task.target);
    study.take_base_from(std::move(others), other_device);
  }
  if (!arguments.csv.empty()) return study.write_csv();
  if (arguments.clock) {
    study.clock();
    return {};
  }
  return study.run();
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
  options.text("--without", arguments.without, "REGEX", "columns to leave out, by whole names");
  options.text("--arms", arguments.arms, "NAMES", "with commas between them (all)");
  options.choice("--unseen", arguments.unseen, {"task", "family"}, "by the base (task)");
  options.text("--base-from", arguments.base_from, "FILE",
               "records that the base is trained on, all of them, in place of other tasks");
  options.text("--json", arguments.json, "FILE", "write an object a task, arm and draw");
  options.flag("--clock", arguments.clock, "time a fit and 1,000 scores, and stop");
  options.text("--csv", arguments.csv, "PREFIX", "write tables for compare_gbdt.py and stop");
  options.positionals("FILE", arguments.files, "files of tuning records");
  return bench::run_program(options, argc, argv, [&] { return bench::adapt(arguments); });
}
