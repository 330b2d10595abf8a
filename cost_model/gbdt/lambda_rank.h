// The derivatives of LambdaRank for one group.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::gbdt {

// Memory that is kept from group to group.
struct RankScratch {
  std::vector<uint64_t> order;
  std::vector<float> scores, gains, discounts, gradients, hessians;
};

// The places of the scores, highest first; equal scores stay in order. `order` receives places in
// its lower half.
void sort_by_score(std::span<const float> scores, std::vector<uint64_t>& order);

// Derivatives as objective.h defines them, for the rows of one group; all spans are as long.
void lambda_rank(std::span<const float> scores, std::span<const float> gains, double sigma,
                 int truncation, RankScratch& scratch, std::span<float> gradients,
                 std::span<float> hessians);

// DCG of the first `truncation` places when sorted by score, over that of the best order; 1 where
// all gains are equal.
double ndcg(std::span<const float> scores, std::span<const float> gains, int truncation);

}  // namespace espalier::gbdt
