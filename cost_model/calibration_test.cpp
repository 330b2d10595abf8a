#include "espalier/cost_model/calibration.h"

#include <cmath>

#include "espalier/support/json.h"
#include "espalier/support/rng.h"
#include "gtest/gtest.h"

namespace espalier {
namespace {

// Rows of `columns` random numbers, the first of which the margins lack.
struct Rows {
  Rows(size_t count, size_t columns, uint64_t seed, float slope = 0.5F) : columns(columns) {
    Rng rng(seed);
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < columns; ++j) values.push_back(static_cast<float>(rng.uniform()));
      margins.push_back(static_cast<float>(rng.uniform()));
      labels.push_back(margins.back() + slope * values[i * columns]);
      weights.push_back(1);
      groups.push_back(0);
    }
  }
  gbdt::TrainingSet set() const {
    return {{values, labels.size(), columns}, labels, weights, margins, groups};
  }
  // Of what is left after the correction, the standard deviation.
  double left_over(const Calibration& calibration) const {
    std::vector<float> reached = margins;
    calibration.add_to(set().table, reached);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < reached.size(); ++i) {
      const double left = static_cast<double>(labels[i]) - static_cast<double>(reached[i]);
      sum += left;
      squares += left * left;
    }
    const double n = static_cast<double>(reached.size());
    return std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n)));
  }

  size_t columns;
  std::vector<float> values, margins, labels, weights;
  std::vector<uint32_t> groups;
};

TEST(Calibration, AddsNothingBeforeItIsFitted) {
  const Rows rows(5, 3, 1);
  std::vector<float> margins = rows.margins;
  Calibration().add_to(rows.set().table, margins);
  EXPECT_EQ(margins, rows.margins);
}

TEST(Calibration, FindsWhatTheMarginsLack) {
  const Rows few(30, 4, 1), others(200, 4, 2);
  const Calibration calibration = Calibration::fit(few.set(), 0.1);
  EXPECT_LT(others.left_over(calibration), 0.2 * others.left_over({}));
}

TEST(Calibration, ALargePenaltyBelievesNothing) {
  const Rows rows(30, 4, 1);
  const Calibration calibration = Calibration::fit(rows.set(), 1e6);
  EXPECT_GT(rows.left_over(calibration), 0.99 * rows.left_over({}));
}

TEST(Calibration, WhatDistinguishesGroupsAsWholesIsLeftOut) {
  Rows rows(40, 2, 1, 0);
  for (size_t i = 0; i < 20; ++i) {
    rows.groups[i] = 1;
    rows.labels[i] += 100;
    rows.values[2 * i] += 5;
  }
  const Calibration calibration = Calibration::fit(rows.set(), 0.1);
  std::vector<float> reached = rows.margins;
  calibration.add_to(rows.set().table, reached);
  for (size_t i = 0; i < 40; ++i) EXPECT_NEAR(reached[i], rows.margins[i], 1e-3F);
}

TEST(Calibration, MissingValuesCountAsTheMeanAndFarOnesAsNear) {
  const Rows rows(30, 1, 1);
  const Calibration calibration = Calibration::fit(rows.set(), 0.1);
  const std::vector<float> values = {NAN, 1e6F, 1e9F, -INFINITY};
  std::vector<float> margins(4, 0);
  calibration.add_to({values, 4, 1}, margins);
  EXPECT_EQ(margins[0], 0);
  EXPECT_EQ(margins[1], margins[2]);
  EXPECT_EQ(margins[3], -margins[1]);
  EXPECT_LT(margins[1], 1);
}

TEST(Calibration, AppendedOnesAddUp) {
  const Rows rows(30, 2, 1), others(30, 2, 2, -0.2F);
  Calibration both = Calibration::fit(rows.set(), 0.1);
  const Calibration second = Calibration::fit(others.set(), 0.1);
  std::vector<float> one_by_one = rows.margins, at_once = rows.margins;
  both.add_to(rows.set().table, one_by_one);
  second.add_to(rows.set().table, one_by_one);
  both.append(second);
  both.add_to(rows.set().table, at_once);
  for (size_t i = 0; i < 30; ++i) EXPECT_NEAR(at_once[i], one_by_one[i], 1e-5F);
}

TEST(Calibration, IsReadBackBitForBit) {
  const Rows rows(30, 3, 1);
  const Calibration calibration = Calibration::fit(rows.set(), 0.1);
  EXPECT_EQ(Calibration::parse(calibration.to_json(), 3).value(), calibration);
}

TEST(Calibration, RefusesColumnsThatDoNotExist) {
  const Rows rows(30, 3, 1);
  const Json text = Calibration::fit(rows.set(), 0.1).to_json();
  const Result<Calibration> read = Calibration::parse(text, 2);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::Parse);
}

}  // namespace
}  // namespace espalier
