// How good scores are.
#pragma once

#include <span>

#include "espalier/cost_model/gbdt/training_set.h"

namespace espalier::gbdt {

// Root of the mean of (score - label)^2, unweighted; 0 for no rows.
double rmse(const TrainingSet& set, std::span<const float> scores);

// The share of pairs whose labels differ by more than `apart` whose scores are in the same order,
// ties of scores counting half; 0.5 if there are none. Labels may be -inf, and two of those are
// equal.
double pair_accuracy(std::span<const float> labels, std::span<const float> scores, float apart = 0);

// The same within each group; the mean over the groups that have pairs with different labels, 0.5
// if none has.
double pair_accuracy(const TrainingSet& set, std::span<const float> scores);

// exp(label) of the best of the first k by score, over that of the best; the mean over groups. With
// labels log(best time / time) it is TenSet's "top-k score", 1 if the best candidate is among the
// k. 1 for no rows.
double best_of_top(const TrainingSet& set, std::span<const float> scores, int k);

}  // namespace espalier::gbdt
