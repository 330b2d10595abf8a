#include "espalier/cost_model/formula.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "espalier/support/rng.h"

namespace espalier {
namespace {

TEST(Formula, NumbersAreFolded) {
  const Quantity q = if_le(ceil(Quantity(7) / 2), 4, max(3, Quantity(5) - 1), 0);
  ASSERT_TRUE(q.is_number());
  EXPECT_EQ(q.number(), 4);
}

TEST(Formula, EqualOperationsAreWrittenOnce) {
  FormulaBuilder builder;
  const Quantity a = builder.decision(0), b = builder.decision(1);
  EXPECT_TRUE((a * b).same_as(a * b));
  EXPECT_FALSE((a * b).same_as(b * a));  // (rounding may depend on the order elsewhere)
  const Quantity results[] = {a * b + 1, a * b + 2};
  EXPECT_EQ(Formula(results).operations(), 3u);
}

TEST(Formula, WhatNoResultNeedsIsLeftOut) {
  FormulaBuilder builder;
  const Quantity a = builder.decision(0);
  const Quantity unused = a * a * a;
  const Quantity results[] = {a + 1};
  EXPECT_FALSE(unused.is_number());
  EXPECT_EQ(Formula(results).operations(), 1u);
}

TEST(Formula, NeutralOperandsCostNothing) {
  FormulaBuilder builder;
  const Quantity a = builder.decision(0);
  EXPECT_TRUE((a * 1 + 0).same_as(a));
  EXPECT_EQ((a * 0).number(), 0);
  EXPECT_TRUE((a / 1).same_as(a));
}

// A random expression, as a formula and with numbers.
Quantity random_expression(Rng& rng, const std::vector<Quantity>& leaves, int depth) {
  if (depth == 0) return leaves[rng.below(leaves.size())];
  auto next = [&] { return random_expression(rng, leaves, depth - 1); };
  switch (rng.below(9)) {
    case 0: return next() + next();
    case 1: return next() - next();
    case 2: return next() * next();
    case 3: {
      const Quantity b = next();
      return next() / (b * b + 1);
    }
    case 4: return min(next(), next());
    case 5: return max(next(), next());
    case 6: return floor(next());
    case 7: return log2_1p(max(0, next()));
    default: {
      const Quantity a = next(), b = next(), x = next();
      return if_le(a, b, x, next());
    }
  }
}

TEST(Formula, EvaluatesBatchesOfAnySizeAsNumbersDo) {
  constexpr uint64_t kSeed = 5;
  for (uint64_t round = 0; round < 40; ++round) {
    FormulaBuilder builder;
    auto make = [&](const std::vector<Quantity>& leaves) {
      Rng rng(kSeed + round);
      std::vector<Quantity> results;
      for (int i = 0; i < 5; ++i) results.push_back(random_expression(rng, leaves, 5));
      return results;
    };
    const std::vector<Quantity> symbols = {builder.decision(0), builder.decision(1),
                                           builder.decision(2), 3.5};
    const Formula formula(make(symbols));
    const size_t count = 1 + round;
    Rng rng(round);
    std::vector<int32_t> decisions;
    for (size_t i = 0; i < 3 * count; ++i) decisions.push_back(static_cast<int32_t>(rng.below(9)));
    std::vector<double> out(5 * count);
    formula.evaluate(decisions, 3, count, out);
    for (size_t c = 0; c < count; ++c) {
      const std::vector<Quantity> numbers = {static_cast<double>(decisions[3 * c]),
                                             static_cast<double>(decisions[3 * c + 1]),
                                             static_cast<double>(decisions[3 * c + 2]), 3.5};
      const std::vector<Quantity> expected = make(numbers);
      for (size_t k = 0; k < 5; ++k) {
        EXPECT_EQ(out[5 * c + k], expected[k].number()) << "seed " << kSeed + round;
      }
    }
  }
}

TEST(Formula, OfNumbersAlone) {
  const Quantity results[] = {2, 3};
  std::vector<double> out(4);
  Formula(results).evaluate({}, 0, 2, out);
  EXPECT_EQ(out, (std::vector<double>{2, 3, 2, 3}));
}

}  // namespace
}  // namespace espalier
