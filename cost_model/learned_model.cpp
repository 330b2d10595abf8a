#include "espalier/cost_model/learned_model.h"

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "espalier/cost_model/gbdt/forest_text.h"
#include "espalier/cost_model/model_text.h"
#include "espalier/support/check.h"
#include "espalier/support/json.h"
#include "espalier/support/rng.h"

namespace espalier {
namespace {

constexpr int64_t kVersion = 2;

// Everything measured, with features: what is trained on.
struct Rows {
  std::vector<float> values, margins;
  std::vector<uint32_t> groups;
  std::vector<double> times_us;
  size_t size() const { return times_us.size(); }
};

// Some of the rows, with labels.
struct Part {
  std::vector<float> values, margins, labels, weights;
  std::vector<uint32_t> groups;

  gbdt::TrainingSet set(size_t columns) const {
    return {{values, labels.size(), columns}, labels, weights, margins, groups};
  }
};

// Adds each group's weighted mean of what the forest leaves to the margins.
void center(const gbdt::Forest& forest, size_t columns, int threads, Part& part) {
  std::vector<float> scores(part.labels.size());
  forest.predict(part.set(columns).table, part.margins, threads, scores);
  std::map<uint32_t, std::pair<double, double>> sums;
  for (size_t i = 0; i < scores.size(); ++i) {
    auto& [sum, weight] = sums[part.groups[i]];
    const double w = static_cast<double>(part.weights[i]);
    sum += w * (static_cast<double>(part.labels[i]) - static_cast<double>(scores[i]));
    weight += w;
  }
  for (size_t i = 0; i < scores.size(); ++i) {
    const auto& [sum, weight] = sums[part.groups[i]];
    part.margins[i] += static_cast<float>(sum / weight);
  }
}

class LearnedModel final : public CostModel {
 public:
  LearnedModel(std::unique_ptr<const FeatureSource> features, const LearnedModelOptions& options)
      : features_(std::move(features)), options_(options), columns_(features_->names().size()) {
    forest_.columns = static_cast<uint32_t>(columns_);
    options_.scratch.threads = options_.delta.threads = options.threads;
    options_.refit.threads = options.threads;
  }

  std::string_view name() const override { return "learned"; }

  void score(const Task& task, std::span<const Candidate> candidates,
             std::span<float> scores) override {
    ESP_CHECK(candidates.size() == scores.size(), "one score a candidate");
    std::vector<float> values(candidates.size() * columns_), margins(candidates.size());
    features_->extract(task, candidates, options_.threads, values, margins);
    std::vector<bool> applies(candidates.size());
    for (size_t i = 0; i < candidates.size(); ++i) {
      applies[i] = std::isfinite(margins[i]);
      if (!applies[i] || !options_.use_margins) margins[i] = 0;
    }
    calibration_.add_to({values, candidates.size(), columns_}, margins);
    forest_.predict({values, candidates.size(), columns_}, margins, options_.threads, scores);
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (!applies[i]) scores[i] = -std::numeric_limits<float>::infinity();
    }
  }

  void update(std::span<const MeasuredRow> rows) override {
    for (size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
      const Task* task = rows[begin].task;
      std::vector<Candidate> candidates;
      for (; end < rows.size() && rows[end].task == task; ++end) {
        candidates.push_back(rows[end].candidate);
      }
      add_rows(*task, candidates, rows.subspan(begin, end - begin));
    }
    train();
  }

  std::string save() const override {
    Json names = Json::array();
    for (const std::string& column : features_->names()) names.push(column);
    return Json::object(
               {{"model", "learned"},
                {"version", kVersion},
                {"features", std::move(names)},
                {"calibration", calibration_.to_json()},
                {"forest", gbdt::to_json(forest_)},
                {"base_calibration", (base_kept() ? base_calibration_ : calibration_).to_json()},
                {"base", gbdt::to_json(next_base())}})
        .dump();
  }

  Result<void> load(std::string_view text) override {
    ESP_TRY(const Json json, parse_json(text));
    ESP_TRY_VOID(check_model_header(json, name(), kVersion));
    ESP_TRY(const std::vector<std::string> names, json.get_strings("features"));
    for (size_t j = 0; j < std::max(names.size(), columns_); ++j) {
      const std::string ours = j < columns_ ? features_->names()[j] : "nothing";
      const std::string theirs = j < names.size() ? names[j] : "nothing";
      if (ours == theirs) continue;
      return make_error(ErrorCode::Unsupported,
                        "the learned model was trained on other features: "
                        "column ",
                        j, " is '", theirs, "' there and '", ours, "' here: train it again");
    }
    ESP_TRY(const Json calibration_json, json.get("calibration"));
    ESP_TRY(Calibration calibration, Calibration::parse(calibration_json, columns_));
    ESP_TRY(const Json forest_json, json.get("forest"));
    ESP_TRY(const Json base_calibration_json, json.get("base_calibration"));
    ESP_TRY(Calibration base_calibration, Calibration::parse(base_calibration_json, columns_));
    ESP_TRY(const Json base_json, json.get("base"));
    ESP_TRY(gbdt::Forest forest, gbdt::parse_forest(forest_json));
    ESP_TRY(gbdt::Forest base, gbdt::parse_forest(base_json));
    if (forest.columns != columns_ || base.columns != columns_) {
      return make_error(ErrorCode::Parse, "the learned model names ", columns_,
                        " features, its forests are for ", forest.columns, " and ", base.columns);
    }
    calibration_ = std::move(calibration);
    forest_ = std::move(forest);
    base_calibration_ = std::move(base_calibration);
    base_ = std::move(base);
    refit_base_.reset();
    rows_ = {};
    groups_.clear();
    return {};
  }

 private:
  void add_rows(const Task& task, std::span<const Candidate> candidates,
                std::span<const MeasuredRow> measured);
  void train();
  void train_from_scratch();
  void train_from_base();
  bool enough_for_trees() const {
    return rows_.size() >= static_cast<size_t>(std::max(options_.least_rows, 1));
  }
  // Fits the calibration to what the forest leaves and adds it to the margins.
  void calibrate(const gbdt::Forest& forest, Part& part);
  // All rows with labels, or those of one side of the hold-out.
  enum class Side { All, Training, Holdout };
  Part select(Side side) const;
  // What a later session starts from: the base that was loaded, or what came of training.
  bool base_kept() const { return base_.has_value() && options_.adaptation != Adaptation::Scratch; }
  gbdt::Forest next_base() const;

  std::unique_ptr<const FeatureSource> features_;
  LearnedModelOptions options_;
  size_t columns_;
  Calibration calibration_;  // these two score
  gbdt::Forest forest_;
  Calibration base_calibration_;  // these two are the base, as it was loaded
  std::optional<gbdt::Forest> base_;
  std::optional<gbdt::Forest> refit_base_;
  Rows rows_;
  std::map<uint64_t, uint32_t> groups_;  // by task_key
};

void LearnedModel::add_rows(const Task& task, std::span<const Candidate> candidates,
                            std::span<const MeasuredRow> measured) {
  const uint32_t group =
      groups_.emplace(task_key(task), static_cast<uint32_t>(groups_.size())).first->second;
  std::vector<float> values(candidates.size() * columns_), margins(candidates.size());
  features_->extract(task, candidates, options_.threads, values, margins);
  for (size_t i = 0; i < candidates.size(); ++i) {
    // One without features is refused by score() and needs no learning.
    if (!std::isfinite(margins[i])) continue;
    const auto row = values.begin() + static_cast<ptrdiff_t>(i * columns_);
    rows_.values.insert(rows_.values.end(), row, row + static_cast<ptrdiff_t>(columns_));
    rows_.margins.push_back(options_.use_margins ? margins[i] : 0);
    rows_.groups.push_back(group);
    rows_.times_us.push_back(measured[i].ok() ? measured[i].time_us : 0);
  }
}

Part LearnedModel::select(Side side) const {
  const Labels labels = make_labels(rows_.groups, rows_.times_us, options_.labels);
  const Rng rng(options_.scratch.seed);
  Part part;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const bool held = rng.fork(i).uniform() < options_.holdout_share;
    if (side != Side::All && held != (side == Side::Holdout)) continue;
    const auto row = rows_.values.begin() + static_cast<ptrdiff_t>(i * columns_);
    part.values.insert(part.values.end(), row, row + static_cast<ptrdiff_t>(columns_));
    part.margins.push_back(rows_.margins[i]);
    part.labels.push_back(labels.labels[i]);
    part.weights.push_back(labels.weights[i]);
    part.groups.push_back(rows_.groups[i]);
  }
  return part;
}

void LearnedModel::train_from_scratch() {
  gbdt::Forest empty;
  empty.columns = static_cast<uint32_t>(columns_);
  const bool hold = options_.holdout_share > 0;
  Part training = select(hold ? Side::Training : Side::All);
  Part holdout = hold ? select(Side::Holdout) : Part{};
  calibration_ = {};
  calibrate(empty, training);
  calibration_.add_to(holdout.set(columns_).table, holdout.margins);
  forest_ = empty;
  if (!enough_for_trees()) return;
  if (options_.center_tasks) {
    center(empty, columns_, options_.threads, training);
    center(empty, columns_, options_.threads, holdout);
  }
  const gbdt::TrainingSet held = holdout.set(columns_);
  const gbdt::TrainingSet* stop_by = holdout.labels.empty() ? nullptr : &held;
  // Options were checked when the model was made and rows are made here, so nothing can be wrong.
  forest_ = gbdt::fit(training.set(columns_), options_.scratch, stop_by).value();
}

void LearnedModel::calibrate(const gbdt::Forest& forest, Part& part) {
  if (!(options_.ridge > 0) || part.labels.empty()) return;
  std::vector<float> reached(part.labels.size());
  const gbdt::TrainingSet set = part.set(columns_);
  forest.predict(set.table, part.margins, options_.threads, reached);
  const Calibration fresh = Calibration::fit(
      {set.table, part.labels, part.weights, reached, part.groups}, options_.ridge);
  fresh.add_to(set.table, part.margins);
  calibration_.append(fresh);
}

void LearnedModel::train_from_base() {
  Part all = select(Side::All);
  forest_ = *base_;
  calibration_ = base_calibration_;
  calibration_.add_to(all.set(columns_).table, all.margins);
  calibrate(forest_, all);
  if (options_.adaptation != Adaptation::Delta) {
    Part part = all;
    if (options_.center_tasks) center(forest_, columns_, options_.threads, part);
    forest_ = gbdt::refit(forest_, part.set(columns_), options_.refit).value();
    refit_base_ = forest_;
  }
  if (options_.adaptation == Adaptation::Refit || !enough_for_trees()) return;
  Part part = all;
  if (options_.center_tasks) center(forest_, columns_, options_.threads, part);
  std::vector<float> reached(part.labels.size());
  forest_.predict(part.set(columns_).table, part.margins, options_.threads, reached);
  part.margins = std::move(reached);
  forest_.append(gbdt::fit(part.set(columns_), options_.delta).value());
}

void LearnedModel::train() {
  if (options_.adaptation == Adaptation::Frozen) return;
  if (rows_.size() < static_cast<size_t>(std::max(options_.least_calibrated, 1))) return;
  if (base_kept()) {
    train_from_base();
  } else {
    train_from_scratch();
  }
}

gbdt::Forest LearnedModel::next_base() const {
  if (!base_kept()) return forest_;
  gbdt::Forest base = *base_;
  if (refit_base_.has_value()) gbdt::move_toward(base, *refit_base_, options_.base_momentum);
  return base;
}

}  // namespace

// A refit and the scoring of a thousand candidates have to fit in a tenth of a second. Within that,
// values are those that did best in bench/models/adapt, on tasks that the base had not seen; the
// differences around them are small, but for few columns a tree and the calibration, which keep few
// rows from being believed.
LearnedModelOptions::LearnedModelOptions() {
  scratch.trees = 50;
  scratch.max_bins = 63;
  scratch.tree.eta = 0.1;
  scratch.tree.lambda = 2;
  scratch.tree.max_depth = 5;
  scratch.tree.max_leaves = 32;
  scratch.tree.min_child_weight = 0.5;
  scratch.column_share = 0.25;
  delta = scratch;
  refit.kappa = 8;
}

Result<std::unique_ptr<CostModel>> make_learned_model(std::unique_ptr<const FeatureSource> features,
                                                      const LearnedModelOptions& options) {
  ESP_TRY_VOID(gbdt::check(options.scratch));
  ESP_TRY_VOID(gbdt::check(options.delta));
  ESP_TRY_VOID(gbdt::check(options.refit));
  const bool shares = options.ridge >= 0 && options.holdout_share >= 0 &&
                      options.holdout_share < 1 && options.base_momentum >= 0 &&
                      options.base_momentum <= 1;
  if (!shares || !(options.labels.slowest > 1) || !(options.labels.least_weight > 0)) {
    return make_error(
        ErrorCode::InvalidArgument,
        "learned model: the ridge must be 0 or more, the hold-out share in [0, 1), the momentum in "
        "[0, 1], the slowest ratio above 1 and the least weight above 0; got ",
        options.ridge, ", ", options.holdout_share, ", ", options.base_momentum, ", ",
        options.labels.slowest, " and ", options.labels.least_weight);
  }
  return std::unique_ptr<CostModel>(std::make_unique<LearnedModel>(std::move(features), options));
}

}  // namespace espalier
