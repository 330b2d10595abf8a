#include "models/pool/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "espalier/cost_model/gbdt/metrics.h"

namespace espalier::bench {
namespace {

template <class T>
std::vector<double> ranks(std::span<const T> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (size_t first = 0; first < order.size();) {
    size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    const double shared = static_cast<double>(first + end - 1) / 2;
    for (; first < end; ++first) rank[order[first]] = shared;
  }
  return rank;
}

size_t draft_size(size_t n, double share) {
  return std::clamp<size_t>(static_cast<size_t>(std::ceil(share * static_cast<double>(n))), 1, n);
}

}  // namespace

double spearman(std::span<const float> scores, std::span<const double> times) {
  const std::vector<double> a = ranks(scores), b = ranks(times);
  const double n = static_cast<double>(a.size());
  const double middle = (n - 1) / 2;
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - middle) * (b[i] - middle);
    aa += (a[i] - middle) * (a[i] - middle);
    bb += (b[i] - middle) * (b[i] - middle);
  }
  return aa == 0 || bb == 0 ? 0 : -ab / std::sqrt(aa * bb);
}

double pair_accuracy(std::span<const float> scores, std::span<const double> times, double apart) {
  std::vector<float> labels;
  for (double time : times) labels.push_back(static_cast<float>(-std::log(time)));
  return gbdt::pair_accuracy(labels, scores, static_cast<float>(std::log(apart)));
}

double best_of_draft(std::span<const float> scores, std::span<const double> times, double share) {
  std::vector<size_t> order(times.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  double best = INFINITY;
  for (size_t i = 0; i < draft_size(times.size(), share); ++i)
    best = std::min(best, times[order[i]]);
  return *std::min_element(times.begin(), times.end()) / best;
}

double best_of_random_draft(std::span<const double> times, double share) {
  std::vector<double> sorted(times.begin(), times.end());
  std::sort(sorted.begin(), sorted.end());
  const double n = static_cast<double>(sorted.size());
  const double k = static_cast<double>(draft_size(sorted.size(), share));
  // The chance that none of the first i is drawn, and then the next one is.
  double none = 1, expected = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const double left = n - static_cast<double>(i);
    const double here = std::min(1.0, k / left);
    expected += none * here * (sorted[0] / sorted[i]);
    none *= 1 - here;
  }
  return expected;
}

double mean(std::span<const double> values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

}  // namespace espalier::bench
