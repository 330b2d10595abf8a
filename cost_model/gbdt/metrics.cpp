#include "espalier/cost_model/gbdt/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "espalier/cost_model/gbdt/lambda_rank.h"
#include "espalier/cost_model/gbdt/objective.h"

namespace espalier::gbdt {
namespace {

// Counts of places, with sums over all places up to one: a Fenwick tree.
class PlaceCounts {
 public:
  explicit PlaceCounts(size_t places) : sums_(places + 1) {}
  void add(size_t place) {
    for (size_t i = place + 1; i < sums_.size(); i += i & (~i + 1)) ++sums_[i];
  }
  // Of the places before this one.
  int64_t before(size_t place) const {
    int64_t sum = 0;
    for (size_t i = place; i > 0; i -= i & (~i + 1)) sum += sums_[i];
    return sum;
  }

 private:
  std::vector<int64_t> sums_;
};

// Less than 0 if there is no pair. In n log n: by ascending label, each row looks up how many rows
// of low enough labels have lower and equal scores.
double accuracy_or_none(std::span<const float> labels, std::span<const float> scores, float apart) {
  std::vector<float> places(scores.begin(), scores.end());
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  const auto place_of = [&](float score) {
    const auto at = std::lower_bound(places.begin(), places.end(), score);
    return static_cast<size_t>(at - places.begin());
  };
  std::vector<size_t> order(labels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return labels[a] < labels[b]; });
  PlaceCounts counts(places.size());
  double right = 0, pairs = 0;
  size_t known = 0;  // rows that were counted
  for (size_t row : order) {
    for (; labels[order[known]] < labels[row] - apart; ++known) {
      counts.add(place_of(scores[order[known]]));
    }
    const size_t place = place_of(scores[row]);
    const int64_t below = counts.before(place);
    const int64_t equal = counts.before(place + 1) - below;
    right += static_cast<double>(below) + static_cast<double>(equal) / 2;
    pairs += static_cast<double>(known);
  }
  return pairs > 0 ? right / pairs : -1;
}

struct GroupRows {
  std::vector<float> labels, scores;
};
GroupRows take(const TrainingSet& set, std::span<const float> scores,
               std::span<const uint32_t> rows) {
  GroupRows taken;
  for (uint32_t i : rows) {
    taken.labels.push_back(set.labels[i]);
    taken.scores.push_back(scores[i]);
  }
  return taken;
}

}  // namespace

double rmse(const TrainingSet& set, std::span<const float> scores) {
  double sum = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double error = static_cast<double>(scores[i]) - static_cast<double>(set.labels[i]);
    sum += error * error;
  }
  return scores.empty() ? 0 : std::sqrt(sum / static_cast<double>(scores.size()));
}

double pair_accuracy(std::span<const float> labels, std::span<const float> scores, float apart) {
  const double accuracy = accuracy_or_none(labels, scores, apart);
  return accuracy < 0 ? 0.5 : accuracy;
}

double pair_accuracy(const TrainingSet& set, std::span<const float> scores) {
  const Groups groups(set);
  double sum = 0, count = 0;
  for (size_t group = 0; group < groups.size(); ++group) {
    const GroupRows rows = take(set, scores, groups.rows(group));
    const double accuracy = accuracy_or_none(rows.labels, rows.scores, 0);
    if (accuracy < 0) continue;
    sum += accuracy;
    ++count;
  }
  return count > 0 ? sum / count : 0.5;
}

double best_of_top(const TrainingSet& set, std::span<const float> scores, int k) {
  const Groups groups(set);
  double sum = 0;
  std::vector<uint64_t> order;
  for (size_t group = 0; group < groups.size(); ++group) {
    const GroupRows rows = take(set, scores, groups.rows(group));
    sort_by_score(rows.scores, order);
    const float best = *std::max_element(rows.labels.begin(), rows.labels.end());
    float found = rows.labels[static_cast<uint32_t>(order[0])];
    for (size_t i = 0; i < std::min(order.size(), static_cast<size_t>(std::max(k, 1))); ++i) {
      found = std::max(found, rows.labels[static_cast<uint32_t>(order[i])]);
    }
    sum += std::exp(static_cast<double>(found) - static_cast<double>(best));
  }
  return groups.size() > 0 ? sum / static_cast<double>(groups.size()) : 1;
}

}  // namespace espalier::gbdt
