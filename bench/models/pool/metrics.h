// How well scores order measured candidates.
#pragma once

#include <span>
#include <vector>

namespace espalier::bench {

// Higher scores should go with lower times. Equal values share their mean rank.
double spearman(std::span<const float> scores, std::span<const double> times);

// The share of pairs that the scores order rightly, of those whose longer time is more than `apart`
// times the shorter one; equal scores count half.
double pair_accuracy(std::span<const float> scores, std::span<const double> times,
                     double apart = 1);

// The best time of all over the best of the `share` that scores highest (at least one candidate):
// 1 if the best is among them. Equal scores are taken in order.
double best_of_draft(std::span<const float> scores, std::span<const double> times, double share);

// What a random draft of that size has on average.
double best_of_random_draft(std::span<const double> times, double share);

// Times further apart than this do not come from noise.
inline constexpr double kClear = 1.05;

double mean(std::span<const double> values);

}  // namespace espalier::bench
