// What boosting minimises, with first and second derivatives by the score of each row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/cost_model/gbdt/training_set.h"

namespace espalier::gbdt {

enum class Loss : uint8_t {
  SquaredError,  // of scores against labels
  LambdaRank,    // of the order within each group
};

struct ObjectiveOptions {
  Loss loss = Loss::SquaredError;
  // LambdaRank: steepness of the sigmoid, and the pairs that count: those with at least one of the
  // first so many ranks of a group.
  double sigma = 1;
  int truncation = 64;
};

// Rows of a training set by group, in order of appearance.
class Groups {
 public:
  explicit Groups(const TrainingSet& set);
  size_t size() const { return starts_.size() - 1; }
  std::span<const uint32_t> rows(size_t group) const {
    return std::span(rows_).subspan(starts_[group], starts_[group + 1] - starts_[group]);
  }

 private:
  std::vector<uint32_t> rows_;
  std::vector<size_t> starts_;
};

// Squared error: L = sum of w (s - y)^2 / 2, so g = w (s - y) and h = w.
//
// LambdaRank (Burges, "From RankNet to LambdaRank to LambdaMART", 2010, sections 4 and 7): over
// pairs of a group in which row a has the higher label,
//   L = Z * sum of D log(1 + exp(-sigma (s_a - s_b))),
//   D = |gain_a - gain_b| * |1/log2(2 + rank_a) - 1/log2(2 + rank_b)| / (0.01 + |s_a - s_b|),
// what swapping them would change of the group's DCG, over how far apart they are (as in LightGBM
// and XGBoost: pairs that are nearly tied count more, which was worth 3 to 4 points of pair
// accuracy). A row's gain is exp(label), its throughput over the best one's; ranks are those of the
// current scores, 0 first. With r = 1 / (1 + exp(sigma (s_a - s_b))):
//   g_a -= Z sigma D r, g_b += Z sigma D r, h_a and h_b += Z sigma^2 D r (1 - r),
// the exact derivatives where D and Z are held. Z = rows / sum of D scales each group so that
// Hessians are of the order of 1 a row, as those of squared error are: regularisation then means
// the same for both. Weights of rows do not count.
//
// Both are the same for any number of threads.
class Objective {
 public:
  Objective(const TrainingSet& set, const ObjectiveOptions& options);

  // One gradient and one Hessian (> 0) a row.
  void differentiate(std::span<const double> scores, int threads, std::span<float> gradients,
                     std::span<float> hessians) const;

  // Squared error: the weighted mean of (s - y)^2. LambdaRank: 1 - the mean over groups of the
  // NDCG at the truncation, of those groups that have two different labels.
  double loss(std::span<const double> scores) const;

 private:
  const TrainingSet& set_;
  ObjectiveOptions options_;
  Groups groups_;
};

}  // namespace espalier::gbdt
