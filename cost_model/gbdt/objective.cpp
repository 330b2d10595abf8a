#include "espalier/cost_model/gbdt/objective.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "espalier/cost_model/gbdt/lambda_rank.h"
#include "espalier/support/parallel.h"

namespace espalier::gbdt {
namespace {

struct GroupScratch {
  RankScratch rank;
  std::vector<float> scores, gains, gradients, hessians;

  void take(const TrainingSet& set, std::span<const uint32_t> rows, std::span<const double> all) {
    scores.resize(rows.size());
    gains.resize(rows.size());
    for (size_t k = 0; k < rows.size(); ++k) {
      scores[k] = static_cast<float>(all[rows[k]]);
      gains[k] = static_cast<float>(std::exp(static_cast<double>(set.labels[rows[k]])));
    }
  }
};

}  // namespace

Groups::Groups(const TrainingSet& set) {
  std::map<uint32_t, uint32_t> numbers;
  std::vector<uint32_t> group_of(set.table.rows);
  std::vector<size_t> sizes;
  for (size_t i = 0; i < group_of.size(); ++i) {
    const auto [entry, fresh] =
        numbers.emplace(set.group(i), static_cast<uint32_t>(numbers.size()));
    if (fresh) sizes.push_back(0);
    group_of[i] = entry->second;
    ++sizes[entry->second];
  }
  starts_.assign(1, 0);
  for (size_t size : sizes) starts_.push_back(starts_.back() + size);
  rows_.resize(group_of.size());
  std::vector<size_t> next(starts_.begin(), starts_.end() - 1);
  for (size_t i = 0; i < group_of.size(); ++i)
    rows_[next[group_of[i]]++] = static_cast<uint32_t>(i);
}

Objective::Objective(const TrainingSet& set, const ObjectiveOptions& options)
    : set_(set), options_(options), groups_(set) {}

void Objective::differentiate(std::span<const double> scores, int threads,
                              std::span<float> gradients, std::span<float> hessians) const {
  if (options_.loss == Loss::SquaredError) {
    for (size_t i = 0; i < scores.size(); ++i) {
      const double weight = static_cast<double>(set_.weight(i));
      gradients[i] = static_cast<float>(weight * (scores[i] - static_cast<double>(set_.labels[i])));
      hessians[i] = set_.weight(i);
    }
    return;
  }
  const size_t pairs = scores.size() * static_cast<size_t>(std::max(options_.truncation, 1));
  const int workers = pairs > 500'000 ? std::max(threads, 1) : 1;
  std::vector<GroupScratch> scratches(static_cast<size_t>(workers));
  parallel_for(workers, groups_.size(), [&](size_t group, int worker) {
    GroupScratch& scratch = scratches[static_cast<size_t>(worker)];
    const std::span<const uint32_t> rows = groups_.rows(group);
    scratch.take(set_, rows, scores);
    scratch.gradients.resize(rows.size());
    scratch.hessians.resize(rows.size());
    lambda_rank(scratch.scores, scratch.gains, options_.sigma, options_.truncation, scratch.rank,
                scratch.gradients, scratch.hessians);
    for (size_t k = 0; k < rows.size(); ++k) {
      gradients[rows[k]] = scratch.gradients[k];
      hessians[rows[k]] = scratch.hessians[k];
    }
  });
}

double Objective::loss(std::span<const double> scores) const {
  if (options_.loss == Loss::SquaredError) {
    double sum = 0, weights = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      const double weight = static_cast<double>(set_.weight(i));
      const double error = scores[i] - static_cast<double>(set_.labels[i]);
      sum += weight * error * error;
      weights += weight;
    }
    return weights > 0 ? sum / weights : 0;
  }
  GroupScratch scratch;
  double sum = 0, count = 0;
  for (size_t group = 0; group < groups_.size(); ++group) {
    scratch.take(set_, groups_.rows(group), scores);
    const auto [low, high] = std::minmax_element(scratch.gains.begin(), scratch.gains.end());
    if (*low == *high) continue;
    sum += 1 - ndcg(scratch.scores, scratch.gains, options_.truncation);
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace espalier::gbdt
