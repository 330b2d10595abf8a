#include "espalier/cost_model/gbdt/refit.h"

#include <vector>

namespace espalier::gbdt {
namespace {

struct LeafSums {
  double g = 0, h = 0, rows = 0;
};

double kept_share(const RefitOptions& options, double rows) {
  if (rows == 0) return 1;
  return options.fixed_share >= 0 ? options.fixed_share : options.kappa / (options.kappa + rows);
}

}  // namespace

Result<void> check(const RefitOptions& options) {
  if (!(options.lambda > 0) || !(options.kappa >= 0) || options.fixed_share > 1) {
    return make_error(ErrorCode::InvalidArgument,
                      "refit: lambda must be above 0, kappa at least 0 and the fixed share at most "
                      "1; got ",
                      options.lambda, ", ", options.kappa, " and ", options.fixed_share);
  }
  return {};
}

Result<Forest> refit(const Forest& forest, const TrainingSet& set, const RefitOptions& options) {
  ESP_TRY_VOID(check(set));
  if (set.table.columns != forest.columns) {
    return make_error(ErrorCode::InvalidArgument, "refit: the rows have ", set.table.columns,
                      " columns, the forest was trained on ", forest.columns);
  }
  ESP_TRY_VOID(check(options));
  Forest result = forest;
  const size_t rows = set.table.rows;
  if (rows == 0) return result;

  std::vector<float> margins(rows), scores_now(rows);
  for (size_t i = 0; i < rows; ++i) margins[i] = set.margin(i);
  if (options.objective.loss == Loss::SquaredError) {
    forest.predict(set.table, margins, options.threads, scores_now);
    double sum = 0, weights = 0;
    for (size_t i = 0; i < rows; ++i) {
      const double weight = static_cast<double>(set.weight(i));
      sum += weight * (static_cast<double>(set.labels[i]) - static_cast<double>(scores_now[i]));
      weights += weight;
    }
    const double shift = weights > 0 ? sum / weights : 0;
    result.base_score += (1 - kept_share(options, static_cast<double>(rows))) * shift;
  }
  std::vector<double> scores(rows);
  for (size_t i = 0; i < rows; ++i) scores[i] = static_cast<double>(margins[i]) + result.base_score;

  const Objective objective(set, options.objective);
  std::vector<float> gradients(rows), hessians(rows);
  std::vector<uint32_t> leaves(rows);
  std::vector<LeafSums> sums;
  for (size_t t = 0; t < result.trees.size(); ++t) {
    const TreeRange& tree = result.trees[t];
    objective.differentiate(scores, options.threads, gradients, hessians);
    result.find_leaves(set.table, t, leaves);
    sums.assign(tree.end - tree.root, LeafSums{});
    for (size_t i = 0; i < rows; ++i) {
      LeafSums& leaf = sums[leaves[i] - tree.root];
      leaf.g += static_cast<double>(gradients[i]);
      leaf.h += static_cast<double>(hessians[i]);
      leaf.rows += 1;
    }
    for (size_t n = 0; n < sums.size(); ++n) {
      const LeafSums& leaf = sums[n];
      if (leaf.rows == 0) continue;
      float& value = result.nodes[tree.root + n].value;
      const double learnt = -result.eta * leaf.g / (leaf.h + options.lambda);
      const double keep = kept_share(options, leaf.rows);
      value = static_cast<float>(keep * static_cast<double>(value) + (1 - keep) * learnt);
    }
    for (size_t i = 0; i < rows; ++i) {
      scores[i] += static_cast<double>(result.nodes[leaves[i]].value);
    }
  }
  return result;
}

}  // namespace espalier::gbdt
