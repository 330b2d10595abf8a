#include "espalier/cost_model/gbdt/fit.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string_view>

#include "espalier/support/rng.h"

namespace espalier::gbdt {
namespace {

Result<void> check_range(std::string_view what, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return make_error(ErrorCode::InvalidArgument, "fit options: ", what, " is ", value,
                    ", expected a value from ", low, " to ", high);
}

// A share of 0 ... count - 1, ascending, at least one.
std::vector<uint32_t> draw_share(size_t count, double share, Rng rng) {
  std::vector<uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  if (share >= 1 || count == 0) return all;
  const size_t wanted =
      std::max<size_t>(1, static_cast<size_t>(share * static_cast<double>(count)));
  std::vector<uint32_t> drawn;
  drawn.reserve(wanted);
  for (size_t i = 0; i < count && drawn.size() < wanted; ++i) {
    if (rng.below(count - i) < wanted - drawn.size()) drawn.push_back(all[i]);
  }
  return drawn;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double mean_residual(const TrainingSet& set) {
  double sum = 0, weights = 0;
  for (size_t i = 0; i < set.table.rows; ++i) {
    const double weight = static_cast<double>(set.weight(i));
    sum += weight * (static_cast<double>(set.labels[i]) - static_cast<double>(set.margin(i)));
    weights += weight;
  }
  return weights > 0 ? sum / weights : 0;
}

// The hold-out rows, whose scores follow the growing forest.
class Holdout {
 public:
  Holdout(const TrainingSet& set, const ObjectiveOptions& options, double base_score)
      : set_(set), objective_(set, options), scores_(set.table.rows), leaves_(set.table.rows) {
    for (size_t i = 0; i < scores_.size(); ++i) {
      scores_[i] = static_cast<double>(set.margin(i)) + base_score;
    }
  }
  double loss() const { return objective_.loss(scores_); }
  void add_last_tree(const Forest& forest) {
    forest.find_leaves(set_.table, forest.trees.size() - 1, leaves_);
    for (size_t i = 0; i < scores_.size(); ++i) {
      scores_[i] += static_cast<double>(forest.nodes[leaves_[i]].value);
    }
  }

 private:
  const TrainingSet& set_;
  Objective objective_;
  std::vector<double> scores_;
  std::vector<uint32_t> leaves_;
};

}  // namespace

Result<void> check(const FitOptions& options) {
  constexpr double kTiny = 1e-9, kHuge = 1e9;
  ESP_TRY_VOID(check_range("trees", options.trees, 0, 1e6));
  ESP_TRY_VOID(check_range("max_depth", options.tree.max_depth, 1, 64));
  ESP_TRY_VOID(check_range("max_leaves", options.tree.max_leaves, 2, 1 << 20));
  ESP_TRY_VOID(check_range("min_child_weight", options.tree.min_child_weight, 0, kHuge));
  ESP_TRY_VOID(check_range("lambda", options.tree.lambda, kTiny, kHuge));
  ESP_TRY_VOID(check_range("gamma", options.tree.gamma, 0, kHuge));
  ESP_TRY_VOID(check_range("eta", options.tree.eta, kTiny, 1));
  ESP_TRY_VOID(check_range("sigma", options.objective.sigma, kTiny, kHuge));
  ESP_TRY_VOID(check_range("truncation", options.objective.truncation, 1, kHuge));
  ESP_TRY_VOID(check_range("max_bins", options.max_bins, 2, kMaxBins));
  ESP_TRY_VOID(check_range("row_share", options.row_share, kTiny, 1));
  ESP_TRY_VOID(check_range("column_share", options.column_share, kTiny, 1));
  return check_range("patience", options.patience, 0, 1e6);
}

Result<Forest> fit(const TrainingSet& set, const FitOptions& options, const TrainingSet* holdout,
                   FitReport* report) {
  ESP_TRY_VOID(check(options));
  ESP_TRY_VOID(check(set));
  if (holdout != nullptr) {
    ESP_TRY_VOID(check(*holdout));
    if (holdout->table.columns != set.table.columns) {
      return make_error(ErrorCode::InvalidArgument, "the hold-out set has ", holdout->table.columns,
                        " columns, the training set ", set.table.columns);
    }
  }
  Forest forest;
  forest.columns = static_cast<uint32_t>(set.table.columns);
  forest.eta = options.tree.eta;
  const bool squared = options.objective.loss == Loss::SquaredError;
  forest.base_score = squared ? mean_residual(set) : 0;

  const auto start = std::chrono::steady_clock::now();
  const BinnedTable binned = bin_table(set.table, options.max_bins, options.threads);
  const Rng rng(options.seed);
  const auto columns_of = [&](int tree) {
    return draw_share(set.table.columns, options.column_share,
                      rng.fork(2 * static_cast<uint64_t>(tree)));
  };
  std::vector<Block> blocks = make_blocks(binned, columns_of(0));
  if (report != nullptr) report->bin_seconds = seconds_since(start);

  const auto grow_start = std::chrono::steady_clock::now();
  const size_t rows = set.table.rows;
  std::vector<double> scores(rows);
  for (size_t i = 0; i < rows; ++i) {
    scores[i] = static_cast<double>(set.margin(i)) + forest.base_score;
  }
  std::vector<float> gradients(rows), hessians(rows);
  const Objective objective(set, options.objective);
  TreeBuilder builder(binned, options.tree, options.threads);
  std::vector<Holdout> held;
  double least = 0;
  size_t best_trees = 0;
  if (holdout != nullptr) {
    held.emplace_back(*holdout, options.objective, forest.base_score);
    least = held[0].loss();
    if (report != nullptr) report->holdout_loss.push_back(least);
  }
  if (report != nullptr) report->training_loss.push_back(objective.loss(scores));
  std::vector<uint32_t> sample = draw_share(rows, 1, rng);
  for (int tree = 0; tree < options.trees; ++tree) {
    objective.differentiate(scores, options.threads, gradients, hessians);
    if (options.row_share < 1) {
      sample = draw_share(rows, options.row_share, rng.fork(2 * static_cast<uint64_t>(tree) + 1));
    }
    if (options.column_share < 1 && tree > 0) blocks = make_blocks(binned, columns_of(tree));
    if (!builder.grow(blocks, sample, gradients, hessians, forest, scores)) {
      // Another draw may still find something.
      if (options.row_share >= 1 && options.column_share >= 1) break;
      continue;
    }
    if (report != nullptr) report->training_loss.push_back(objective.loss(scores));
    if (held.empty()) continue;
    held[0].add_last_tree(forest);
    const double loss = held[0].loss();
    if (report != nullptr) report->holdout_loss.push_back(loss);
    if (loss < least) {
      least = loss;
      best_trees = forest.trees.size();
    } else if (options.patience > 0 &&
               forest.trees.size() - best_trees >= static_cast<size_t>(options.patience)) {
      break;
    }
  }
  if (holdout != nullptr && options.patience > 0) forest.truncate(best_trees);
  if (report != nullptr) report->grow_seconds = seconds_since(grow_start);
  return forest;
}

}  // namespace espalier::gbdt
