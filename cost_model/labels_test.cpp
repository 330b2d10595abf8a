#include "espalier/cost_model/labels.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace espalier {
namespace {

TEST(Labels, AreLogsOfSpeedOverTheBestOfTheGroup) {
  const std::vector<uint32_t> groups = {0, 0, 1, 1};
  const std::vector<double> times = {10, 20, 7, 700};
  const Labels l = make_labels(groups, times, {});
  EXPECT_EQ(l.labels[0], 0);
  EXPECT_FLOAT_EQ(l.labels[1], std::log(0.5F));
  EXPECT_EQ(l.labels[2], 0);
  EXPECT_FLOAT_EQ(l.labels[3], -std::log(64.0F));  // no slower than that counts
  EXPECT_EQ(l.weights, (std::vector<float>{1, 0.5F, 1, 0.2F}));
}

TEST(Labels, FailuresAreTheSlowestAndStillCount) {
  const std::vector<uint32_t> groups(5, 0);
  const std::vector<double> times = {0, 10, -1, NAN, std::numeric_limits<double>::infinity()};
  const Labels l = make_labels(groups, times, {});
  for (size_t i : {0U, 2U, 3U, 4U}) {
    EXPECT_FLOAT_EQ(l.labels[i], -std::log(64.0F));
    EXPECT_EQ(l.weights[i], 0.2F);
  }
}

TEST(Labels, AGroupOfFailuresIsFinite) {
  const std::vector<uint32_t> groups = {3};
  const std::vector<double> times = {0};
  EXPECT_FLOAT_EQ(make_labels(groups, times, {}).labels[0], -std::log(64.0F));
}

}  // namespace
}  // namespace espalier
