// How well scores order measured candidates.
#pragma once

#include <span>
#include <vector>

namespace espalier::bench {

// Higher scores should go with lower times. Equal values share their mean rank.
double spearman(std::span<const float> scores, std::span<const double> times);

// The share of pairs with different times that the scores order rightly; equal scores count half.
double pair_accuracy(std::span<const float> scores, std::span<const double> times);

// The best time of all over the best of the `share` that scores highest (at least one candidate):
// 1 if the best is among them. Equal scores are taken in order.
double best_of_draft(std::span<const float> scores, std::span<const double> times, double share);

// What a random draft of that size has on average.
double best_of_random_draft(std::span<const double> times, double share);

double mean(std::span<const double> values);

}  // namespace espalier::bench
