#include "conductor/statistics.h"

#include <gtest/gtest.h>

#include "espalier/support/rng.h"

namespace espalier::bench {
namespace {

TEST(Statistics, MedianOfOddAndEvenNumbers) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({}), 0);
}

TEST(Statistics, EqualValuesHaveAnIntervalWithoutWidth) {
  const Estimate e = estimate_median({2, 2, 2, 2});
  EXPECT_EQ(e.value, 2);
  EXPECT_EQ(e.low, 2);
  EXPECT_EQ(e.high, 2);
}

TEST(Statistics, IntervalEnclosesTheMedianAndLiesWithinTheValues) {
  const std::vector<double> values = {1.0, 1.1, 0.9, 1.2, 1.05, 0.95, 3.0, 1.0, 1.02};
  const Estimate e = estimate_median(values);
  EXPECT_EQ(e.value, median(values));
  EXPECT_GE(e.low, 0.9);
  EXPECT_LE(e.low, e.value);
  EXPECT_GE(e.high, e.value);
  EXPECT_LT(e.high, 3.0);  // one outlier of nine does not reach it
}

TEST(Statistics, TheSameValuesGiveTheSameEstimate) {
  const std::vector<double> values = {1, 5, 2, 8, 3};
  EXPECT_EQ(estimate_median(values).low, estimate_median(values).low);
  EXPECT_EQ(estimate_median(values).high, estimate_median(values).high);
}

// A 90% interval of the median of 15 normal values holds the true median most of the time.
TEST(Statistics, IntervalCoversTheTruth) {
  Rng rng(7);
  int covered = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values;
    for (int i = 0; i < 15; ++i) {
      double sum = 0;  // twelve uniform values: nearly normal, of mean 0
      for (int j = 0; j < 12; ++j) sum += static_cast<double>(rng.below(1000001)) / 1e6 - 0.5;
      values.push_back(10 + sum);
    }
    const Estimate e = estimate_median(values);
    covered += e.low <= 10 && 10 <= e.high ? 1 : 0;
  }
  EXPECT_GE(covered, kTrials * 80 / 100);
}

TEST(Statistics, GeomeanIsOfTheRowsMedians) {
  const Estimate e = estimate_geomean({{1, 1, 1}, {4, 4, 100}, {2, 2, 2}});
  EXPECT_NEAR(e.value, 2, 1e-12);
  EXPECT_LE(e.low, e.value);
  EXPECT_GE(e.high, e.value);
}

TEST(Statistics, NothingEstimatesToNothing) {
  EXPECT_EQ(estimate_median({}).value, 0);
  EXPECT_EQ(estimate_geomean({}).value, 0);
}

}  // namespace
}  // namespace espalier::bench
