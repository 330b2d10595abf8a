#include "espalier/cost_model/gbdt/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "espalier/cost_model/gbdt/metrics.h"
#include "espalier/cost_model/gbdt/test_tables.h"
#include "gtest/gtest.h"

namespace espalier::gbdt {
namespace {

std::vector<float> scores_of(const Forest& forest, const TestTable& table) {
  std::vector<float> scores(table.labels.size());
  forest.predict(table.set().table, table.margins, 1, scores);
  return scores;
}

FitOptions options_of(Loss loss, int trees = 40) {
  FitOptions options;
  options.trees = trees;
  options.objective.loss = loss;
  return options;
}

TEST(Fit, TrainingLossOfSquaredErrorFallsWithEveryTree) {
  const TestTable table = random_table(600, 8, 1);
  FitReport report;
  ASSERT_TRUE(fit(table.set(), options_of(Loss::SquaredError), nullptr, &report).ok());
  ASSERT_EQ(report.training_loss.size(), 41U);
  for (size_t i = 1; i < report.training_loss.size(); ++i) {
    EXPECT_LT(report.training_loss[i], report.training_loss[i - 1]);
  }
}

TEST(Fit, LearnsWhatItIsShown) {
  const TestTable table = random_table(2000, 8, 1), test = random_table(500, 8, 2);
  const Forest forest = fit(table.set(), options_of(Loss::SquaredError, 60)).value();
  EXPECT_GT(pair_accuracy(test.set(), scores_of(forest, test)), 0.93);
}

TEST(Fit, RankingRecoversAPlantedOrderThatTasksShiftApart) {
  // Labels are shifted by the task, which no column tells: only order within tasks can be learnt.
  TestTable table = random_table(1500, 6, 3, 0, 0), test = random_table(300, 6, 4, 0, 0);
  for (TestTable* t : {&table, &test}) {
    for (size_t i = 0; i < t->labels.size(); ++i)
      t->labels[i] -= 3 * static_cast<float>(t->groups[i]);
  }
  FitOptions options = options_of(Loss::LambdaRank, 100);
  const Forest forest = fit(table.set(), options).value();
  EXPECT_GT(best_of_top(test.set(), scores_of(forest, test), 3), 0.98);
  options.objective.truncation = 1000;  // all pairs, not those of the first ranks alone
  const Forest all_pairs = fit(table.set(), options).value();
  EXPECT_GT(pair_accuracy(test.set(), scores_of(all_pairs, test)), 0.9);
}

TEST(Fit, MarginsAreWhereBoostingStarts) {
  TestTable table = random_table(800, 6, 5, 0, 0);
  table.margins = table.labels;
  FitReport report;
  const Forest forest = fit(table.set(), options_of(Loss::SquaredError), nullptr, &report).value();
  EXPECT_TRUE(forest.trees.empty());  // nothing is left to learn
  // A margin that explains all but the first column leaves trees for that alone.
  for (size_t i = 0; i < table.labels.size(); ++i) {
    const double tile = static_cast<double>(table.values[i * 6]) - 3;
    table.margins[i] += static_cast<float>(0.2 * tile * tile);
  }
  const Forest rest = fit(table.set(), options_of(Loss::SquaredError)).value();
  const std::vector<Importance> by_column = importances(rest);
  double others = 0;
  for (size_t j = 1; j < 6; ++j) others += by_column[j].gain;
  EXPECT_GT(by_column[0].gain, 100 * others);
}

TEST(Fit, WeightsCountAsRepeatedRows) {
  TestTable weighted = random_table(300, 4, 6), repeated = weighted;
  for (size_t i = 0; i < 300; ++i) {
    weighted.weights.push_back(i % 2 == 0 ? 2.0F : 1.0F);
    if (i % 2 != 0) continue;
    repeated.labels.push_back(repeated.labels[i]);
    repeated.groups.push_back(repeated.groups[i]);
    for (size_t j = 0; j < 4; ++j) repeated.values.push_back(repeated.values[i * 4 + j]);
  }
  const FitOptions options = options_of(Loss::SquaredError, 10);
  const TestTable test = random_table(100, 4, 7);
  const std::vector<float> a = scores_of(fit(weighted.set(), options).value(), test);
  const std::vector<float> b = scores_of(fit(repeated.set(), options).value(), test);
  // Continuous columns are cut at quantiles, which repetition may move.
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 0.2F);
}

TEST(Fit, HoldOutStopsAndKeepsTheBest) {
  // Labels of pure noise: nothing learnt helps on other rows for long.
  TestTable table = random_table(300, 6, 8), held = random_table(300, 6, 9);
  Rng rng(1);
  for (TestTable* t : {&table, &held}) {
    for (float& label : t->labels) label = static_cast<float>(rng.normal());
  }
  FitOptions options = options_of(Loss::SquaredError, 500);
  options.patience = 10;
  FitReport report;
  const TrainingSet holdout = held.set();
  const Forest forest = fit(table.set(), options, &holdout, &report).value();
  EXPECT_LT(report.holdout_loss.size(), 100U);
  const auto least = std::min_element(report.holdout_loss.begin(), report.holdout_loss.end());
  EXPECT_EQ(forest.trees.size(), static_cast<size_t>(least - report.holdout_loss.begin()));
  const double error = rmse(holdout, scores_of(forest, held));
  EXPECT_NEAR(error * error, *least, 1e-5);
}

TEST(Fit, SharesOfRowsAndColumnsStillLearn) {
  const TestTable table = random_table(2000, 8, 1), test = random_table(500, 8, 2);
  FitOptions options = options_of(Loss::SquaredError, 80);
  options.row_share = 0.5;
  options.column_share = 0.5;
  const Forest forest = fit(table.set(), options).value();
  EXPECT_EQ(forest.trees.size(), 80U);
  EXPECT_GT(pair_accuracy(test.set(), scores_of(forest, test)), 0.92);
  options.seed = 1;
  EXPECT_FALSE(fit(table.set(), options).value() == forest);
}

TEST(Fit, IsTheSameForAnyNumberOfThreads) {
  const TestTable table = random_table(6000, 30, 2);
  for (Loss loss : {Loss::SquaredError, Loss::LambdaRank}) {
    FitOptions options = options_of(loss, 8);
    options.row_share = 0.7;
    options.column_share = 0.7;
    const Forest one = fit(table.set(), options).value();
    for (int threads : {2, 4}) {
      options.threads = threads;
      EXPECT_EQ(fit(table.set(), options).value(), one);
    }
  }
}

TEST(Fit, TreesOnAFrozenBaseImproveOnAShiftedTask) {
  const TestTable base_table = random_table(2000, 8, 1), test = random_table(1000, 8, 3, 1.5);
  TestTable shifted = random_table(150, 8, 2, 1.5);
  const Forest base = fit(base_table.set(), options_of(Loss::SquaredError, 60)).value();
  shifted.margins.resize(shifted.labels.size());
  base.predict(shifted.set().table, {}, 1, shifted.margins);
  FitOptions options = options_of(Loss::SquaredError, 40);
  options.tree.max_depth = 3;
  Forest both = base;
  both.append(fit(shifted.set(), options).value());
  shifted.margins.clear();
  const double frozen = pair_accuracy(test.set(), scores_of(base, test));
  const double adapted = pair_accuracy(test.set(), scores_of(both, test));
  EXPECT_GT(adapted, frozen + 0.05);
}

TEST(Fit, AppendedForestsAddUp) {
  const TestTable a = random_table(300, 4, 1), b = random_table(300, 4, 2),
                  test = random_table(50, 4, 3);
  const FitOptions options = options_of(Loss::SquaredError, 5);
  const Forest first = fit(a.set(), options).value(), second = fit(b.set(), options).value();
  Forest both = first;
  both.append(second);
  const std::vector<float> x = scores_of(first, test), y = scores_of(second, test);
  const std::vector<float> sum = scores_of(both, test);
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], x[i] + y[i], 1e-5F);
  both.truncate(first.trees.size());
  both.base_score = first.base_score;
  EXPECT_EQ(both, first);
}

TEST(Fit, NoRowsAndNoColumnsGiveAForestWithoutTrees) {
  TestTable none;
  none.columns = 3;
  EXPECT_TRUE(fit(none.set(), {}).value().trees.empty());
  TestTable bare;
  bare.labels = {1, 3};
  bare.groups = {0, 0};
  const Forest forest = fit(bare.set(), {}).value();
  EXPECT_TRUE(forest.trees.empty());
  EXPECT_EQ(forest.base_score, 2);
}

TEST(Fit, NamesWhatIsWrong) {
  const auto message_of = [](const Result<Forest>& r) { return r.ok() ? "" : r.error().message; };
  TestTable table = random_table(10, 4, 1);
  FitOptions options;
  options.row_share = 0;
  EXPECT_NE(message_of(fit(table.set(), options)).find("row_share"), std::string::npos);
  options = {};
  options.tree.lambda = NAN;
  EXPECT_NE(message_of(fit(table.set(), options)).find("lambda"), std::string::npos);
  table.labels[3] = NAN;
  EXPECT_NE(message_of(fit(table.set(), {})).find("labels[3]"), std::string::npos);
  table = random_table(10, 4, 1);
  table.weights = {1, 2};
  EXPECT_NE(message_of(fit(table.set(), {})).find("2 weights"), std::string::npos);
}

TEST(Predict, IsTheSameForAnyNumberOfThreadsAndRows) {
  const TestTable table = random_table(9000, 8, 1);
  const Forest forest = fit(table.set(), options_of(Loss::SquaredError, 300)).value();
  std::vector<float> one(9000), four(9000), single(1);
  forest.predict(table.set().table, {}, 1, one);
  forest.predict(table.set().table, {}, 4, four);
  EXPECT_EQ(one, four);
  for (size_t i : {0U, 31U, 32U, 8999U}) {
    forest.predict({std::span(table.values).subspan(i * 8, 8), 1, 8}, {}, 1, single);
    EXPECT_EQ(single[0], one[i]);
  }
  forest.predict({{}, 0, 8}, {}, 1, {});
}

}  // namespace
}  // namespace espalier::gbdt
