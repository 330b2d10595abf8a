#include "espalier/cost_model/gbdt/metrics.h"

#include <cmath>
#include <vector>

#include "espalier/cost_model/gbdt/test_tables.h"
#include "gtest/gtest.h"

namespace espalier::gbdt {
namespace {

TestTable labelled(std::vector<float> labels, std::vector<uint32_t> groups = {}) {
  TestTable table;
  table.labels = std::move(labels);
  table.groups = std::move(groups);
  return table;
}

TEST(PairAccuracy, ByHand) {
  const TestTable t = labelled({1, 2, 3, 3});
  // Rows by number: 1 below 2 right, 1 below 3 wrong, 1 below 4 tied, 2 below 3 and 4 wrong.
  EXPECT_DOUBLE_EQ(pair_accuracy(t.set(), std::vector<float>{1, 3, 0, 1}),
                   (1 + 0 + 0.5 + 0 + 0) / 5);
}

TEST(PairAccuracy, IsTheMeanOverGroupsThatHavePairs) {
  const TestTable t = labelled({1, 2, 2, 1, 7, 5}, {0, 0, 1, 1, 2, 3});
  EXPECT_DOUBLE_EQ(pair_accuracy(t.set(), std::vector<float>{1, 2, 1, 2, 0, 0}), 0.5);
  EXPECT_DOUBLE_EQ(pair_accuracy(labelled({1}).set(), std::vector<float>{1}), 0.5);
}

TEST(PairAccuracy, CountsPairsThatAreFarEnoughApart) {
  const std::vector<float> labels = {-INFINITY, 0, 1, -INFINITY, 1.5F}, scores = {5, 1, 2, 6, 0};
  // Failures are equal, and below the other three; of those 0 is 1.5 below the last.
  EXPECT_DOUBLE_EQ(pair_accuracy(labels, scores, 1), 0.0 / 7);
  // And 0 is below 1, rightly.
  EXPECT_DOUBLE_EQ(pair_accuracy(labels, scores, 0.9F), 1.0 / 8);
}

TEST(PairAccuracy, AgreesWithTheDefinition) {
  Rng rng(1);
  TestTable t;
  std::vector<float> scores;
  for (int i = 0; i < 200; ++i) {
    t.labels.push_back(static_cast<float>(rng.below(30)));
    scores.push_back(static_cast<float>(rng.below(30)));
  }
  double right = 0, pairs = 0;
  for (size_t i = 0; i < 200; ++i) {
    for (size_t j = 0; j < 200; ++j) {
      if (!(t.labels[i] > t.labels[j])) continue;
      right += scores[i] > scores[j] ? 1 : (scores[i] == scores[j] ? 0.5 : 0);
      pairs += 1;
    }
  }
  EXPECT_DOUBLE_EQ(pair_accuracy(t.set(), scores), right / pairs);
}

TEST(BestOfTop, ByHand) {
  const TestTable t = labelled({0, std::log(0.5F), std::log(0.25F)});
  const std::vector<float> scores = {1, 2, 3};
  EXPECT_NEAR(best_of_top(t.set(), scores, 1), 0.25, 1e-7);
  EXPECT_NEAR(best_of_top(t.set(), scores, 2), 0.5, 1e-7);
  EXPECT_NEAR(best_of_top(t.set(), scores, 10), 1, 1e-7);
}

TEST(Rmse, ByHand) {
  EXPECT_DOUBLE_EQ(rmse(labelled({0, 0}).set(), std::vector<float>{3, 4}), std::sqrt(12.5));
}

}  // namespace
}  // namespace espalier::gbdt
