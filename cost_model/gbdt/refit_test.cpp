#include "espalier/cost_model/gbdt/refit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "espalier/cost_model/gbdt/fit.h"
#include "espalier/cost_model/gbdt/metrics.h"
#include "espalier/cost_model/gbdt/test_tables.h"
#include "gtest/gtest.h"

namespace espalier::gbdt {
namespace {

Forest base_forest(Loss loss = Loss::SquaredError) {
  FitOptions options;
  options.trees = 60;
  options.objective.loss = loss;
  return fit(random_table(2000, 8, 1).set(), options).value();
}

double accuracy_of(const Forest& forest, const TestTable& table) {
  std::vector<float> scores(table.labels.size());
  forest.predict(table.set().table, {}, 1, scores);
  return pair_accuracy(table.set(), scores);
}

TEST(Refit, ImprovesOnAShiftedTask) {
  const TestTable shifted = random_table(200, 8, 2, 1.5), test = random_table(1000, 8, 3, 1.5);
  for (Loss loss : {Loss::SquaredError, Loss::LambdaRank}) {
    const Forest base = base_forest(loss);
    RefitOptions options;
    options.objective.loss = loss;
    const Forest adapted = refit(base, shifted.set(), options).value();
    EXPECT_GT(accuracy_of(adapted, test), accuracy_of(base, test) + 0.03);
  }
}

TEST(Refit, KeepsTheStructureAndTheLeavesWithoutRows) {
  const Forest base = base_forest();
  const TestTable few = random_table(5, 8, 2, 1.5);
  const Forest adapted = refit(base, few.set(), {}).value();
  ASSERT_EQ(adapted.trees, base.trees);
  std::vector<uint32_t> leaves(5);
  for (size_t t = 0; t < base.trees.size(); ++t) {
    base.find_leaves(few.set().table, t, leaves);
    for (uint32_t n = base.trees[t].root; n < base.trees[t].end; ++n) {
      const bool reached = std::find(leaves.begin(), leaves.end(), n) != leaves.end();
      EXPECT_EQ(adapted.nodes[n].threshold, base.nodes[n].threshold);
      if (!reached) EXPECT_EQ(adapted.nodes[n].value, base.nodes[n].value);
    }
  }
}

TEST(Refit, OneLeafByHand) {
  // A stump with leaves -1 and 1; three rows with label 2 go right.
  Forest forest;
  forest.columns = 1;
  forest.eta = 0.5;
  forest.nodes.resize(3);
  forest.nodes[0].threshold = 0;
  forest.nodes[0].left = 1;
  for (uint32_t n : {1U, 2U}) {
    forest.nodes[n].threshold = std::numeric_limits<float>::infinity();
    forest.nodes[n].left = n;
    forest.nodes[n].value = n == 1 ? -1.0F : 1.0F;
  }
  forest.stats.resize(3);
  forest.trees = {{0, 3, 1}};
  TestTable table;
  table.columns = 1;
  table.values = {5, 6, 7};
  table.labels = {2, 2, 2};
  RefitOptions options;
  options.lambda = 1;
  options.kappa = 9;
  const Forest adapted = refit(forest, table.set(), options).value();
  // d = 9/12; the base score moves a quarter of the mean residual 1; then G = -3 * 1.75, H = 3.
  EXPECT_DOUBLE_EQ(adapted.base_score, 0.25);
  EXPECT_FLOAT_EQ(adapted.nodes[2].value, 0.75F * 1 + 0.25F * (0.5F * 3 * 1.75F / 4));
  EXPECT_EQ(adapted.nodes[1].value, -1);
  options.fixed_share = 0.9;
  EXPECT_DOUBLE_EQ(refit(forest, table.set(), options).value().base_score, 0.1);
}

TEST(Refit, EvidenceDecidesHowFarLeavesMove) {
  const Forest base = base_forest();
  const TestTable shifted = random_table(200, 8, 2, 1.5);
  const auto distance = [&](double kappa) {
    RefitOptions options;
    options.kappa = kappa;
    const Forest adapted = refit(base, shifted.set(), options).value();
    double sum = 0;
    for (size_t n = 0; n < base.nodes.size(); ++n) {
      sum += std::abs(static_cast<double>(adapted.nodes[n].value - base.nodes[n].value));
    }
    return sum;
  };
  EXPECT_GT(distance(1), distance(20));
  EXPECT_GT(distance(20), distance(1000));
  EXPECT_LT(distance(1e12), 1e-3);
}

TEST(Refit, OrderOfRowsChangesRoundingOnly) {
  const Forest base = base_forest();
  const TestTable shifted = random_table(100, 8, 2, 1.5);
  TestTable reversed;
  reversed.columns = 8;
  for (size_t i = 100; i-- > 0;) {
    reversed.labels.push_back(shifted.labels[i]);
    reversed.groups.push_back(shifted.groups[i]);
    reversed.values.insert(reversed.values.end(), shifted.values.begin() + static_cast<long>(i * 8),
                           shifted.values.begin() + static_cast<long>(i * 8 + 8));
  }
  const Forest a = refit(base, shifted.set(), {}).value(),
               b = refit(base, reversed.set(), {}).value();
  for (size_t n = 0; n < a.nodes.size(); ++n)
    EXPECT_NEAR(a.nodes[n].value, b.nodes[n].value, 1e-5F);
}

TEST(Refit, NoRowsChangeNothing) {
  const Forest base = base_forest();
  TestTable none;
  none.columns = 8;
  EXPECT_EQ(refit(base, none.set(), {}).value(), base);
}

TEST(Refit, RefusesOtherColumnsAndOptions) {
  const Forest base = base_forest();
  EXPECT_FALSE(refit(base, random_table(10, 4, 1).set(), {}).ok());
  RefitOptions options;
  options.lambda = 0;
  EXPECT_FALSE(refit(base, random_table(10, 8, 1).set(), options).ok());
}

TEST(MoveToward, MixesLeafValues) {
  Forest target = base_forest();
  const Forest before = target;
  const Forest learnt = refit(target, random_table(200, 8, 2, 1.5).set(), {}).value();
  move_toward(target, learnt, 0.75);
  for (size_t n = 0; n < target.nodes.size(); ++n) {
    EXPECT_NEAR(target.nodes[n].value,
                0.75F * before.nodes[n].value + 0.25F * learnt.nodes[n].value, 1e-6F);
  }
  EXPECT_NEAR(target.base_score, 0.75 * before.base_score + 0.25 * learnt.base_score, 1e-12);
}

}  // namespace
}  // namespace espalier::gbdt
