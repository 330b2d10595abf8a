#include "espalier/cost_model/gbdt/tree_builder.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "espalier/cost_model/gbdt/test_tables.h"
#include "gtest/gtest.h"

namespace espalier::gbdt {
namespace {

struct Grown {
  Forest forest;
  std::vector<double> margins;
  bool grew = false;
};

// One tree on squared error from a score of 0.
Grown grow(const TestTable& table, const TreeOptions& options, int threads = 1,
           std::vector<uint32_t> rows = {}) {
  const BinnedTable binned = bin_table(table.set().table, kMaxBins, 1);
  std::vector<uint32_t> columns(table.columns);
  std::iota(columns.begin(), columns.end(), 0U);
  if (rows.empty()) {
    rows.resize(table.labels.size());
    std::iota(rows.begin(), rows.end(), 0U);
  }
  std::vector<float> g, h(table.labels.size(), 1.0F);
  for (float y : table.labels) g.push_back(-y);
  Grown grown;
  grown.forest.columns = static_cast<uint32_t>(table.columns);
  grown.margins.resize(table.labels.size());
  grown.grew = TreeBuilder(binned, options, threads)
                   .grow(make_blocks(binned, columns), rows, g, h, grown.forest, grown.margins);
  return grown;
}

TreeOptions plain_options() {
  TreeOptions options;
  options.lambda = 1;
  options.eta = 1;
  options.min_child_weight = 0;
  return options;
}

TestTable column_table(std::vector<float> column, std::vector<float> labels) {
  TestTable table;
  table.columns = 1;
  table.values = std::move(column);
  table.labels = std::move(labels);
  return table;
}

TEST(TreeBuilder, KnownStump) {
  TreeOptions options = plain_options();
  options.max_depth = 1;
  const Grown t = grow(column_table({1, 2, 3, 4}, {0, 0, 6, 6}), options);
  ASSERT_TRUE(t.grew);
  ASSERT_EQ(t.forest.nodes.size(), 3U);
  EXPECT_EQ(t.forest.nodes[0].threshold, 2.5F);
  EXPECT_EQ(t.forest.nodes[0].left, 1U);
  EXPECT_EQ(t.forest.nodes[1].value, 0);
  EXPECT_EQ(t.forest.nodes[2].value, 4);  // 12 / (2 + 1)
  // (0 + 144/3 - 144/5) / 2
  EXPECT_NEAR(static_cast<double>(t.forest.stats[0].gain), 9.6, 1e-4);
  EXPECT_EQ(t.forest.stats[0].cover, 4);
  EXPECT_EQ(t.margins, (std::vector<double>{0, 0, 4, 4}));
}

TEST(TreeBuilder, EtaScalesLeaves) {
  TreeOptions options = plain_options();
  options.max_depth = 1;
  options.eta = 0.25;
  EXPECT_EQ(grow(column_table({1, 2, 3, 4}, {0, 0, 6, 6}), options).forest.nodes[2].value, 1);
}

TEST(TreeBuilder, MissingValuesGoWhereTheyFit) {
  TreeOptions options = plain_options();
  options.max_depth = 1;
  Grown t = grow(column_table({1, 2, NAN, 3, 4, NAN}, {0, 0, 6, 6, 6, 6}), options);
  EXPECT_EQ(t.forest.nodes[0].missing_right, 1U);
  EXPECT_EQ(t.margins[2], t.margins[3]);
  t = grow(column_table({1, 2, NAN, 3, 4, NAN}, {0, 0, 0, 6, 6, 0}), options);
  EXPECT_EQ(t.forest.nodes[0].missing_right, 0U);
  EXPECT_EQ(t.margins[2], t.margins[0]);
}

TEST(TreeBuilder, SplitsOnMissingAlone) {
  TreeOptions options = plain_options();
  options.max_depth = 1;
  const Grown t = grow(column_table({5, NAN, 5, NAN}, {0, 6, 0, 6}), options);
  ASSERT_TRUE(t.grew);
  EXPECT_EQ(t.margins, (std::vector<double>{0, 4, 0, 4}));
  std::vector<float> scores(3);
  const std::vector<float> rows = {NAN, -100, std::numeric_limits<float>::infinity()};
  t.forest.predict({rows, 3, 1}, {}, 1, scores);
  EXPECT_EQ(scores, (std::vector<float>{4, 0, 0}));
}

TEST(TreeBuilder, ValuesNeverMissingGoWithMostRowsWhenTheyAre) {
  TreeOptions options = plain_options();
  options.max_depth = 1;
  EXPECT_EQ(grow(column_table({1, 2, 3, 4}, {0, 6, 6, 6}), options).forest.nodes[0].missing_right,
            1U);
  EXPECT_EQ(grow(column_table({1, 2, 3, 4}, {0, 0, 0, 6}), options).forest.nodes[0].missing_right,
            0U);
}

TEST(TreeBuilder, NothingToSplit) {
  const TreeOptions options = plain_options();
  EXPECT_FALSE(grow(column_table({1, 1, 1}, {1, 2, 3}), options).grew);  // constant column
  EXPECT_FALSE(grow(column_table({1}, {5}), options).grew);              // one row
  EXPECT_FALSE(grow(column_table({1, 2, 3}, {0, 0, 0}), options).grew);  // no gradient
}

TEST(TreeBuilder, GammaAndChildWeightStopSplits) {
  const TestTable table = column_table({1, 2, 3, 4}, {0, 0, 6, 6});
  TreeOptions options = plain_options();
  options.max_depth = 1;
  options.gamma = 9.7;  // the gain is 9.6
  EXPECT_FALSE(grow(table, options).grew);
  options.gamma = 9.5;
  EXPECT_TRUE(grow(table, options).grew);
  options.gamma = 0;
  options.min_child_weight = 2.5;
  EXPECT_FALSE(grow(table, options).grew);
  options.min_child_weight = 2;
  EXPECT_TRUE(grow(table, options).grew);
}

TEST(TreeBuilder, LimitsHoldAndGrowthOrdersDiffer) {
  const TestTable table = random_table(2000, 12, 7);
  TreeOptions options = plain_options();
  options.max_depth = 8;
  options.max_leaves = 20;
  const auto leaves_of = [](const Forest& f) {
    size_t leaves = 0;
    for (uint32_t i = 0; i < f.nodes.size(); ++i) leaves += f.is_leaf(i) ? 1 : 0;
    return leaves;
  };
  const Forest level = grow(table, options).forest;
  options.growth = Growth::Leaf;
  const Forest leaf = grow(table, options).forest;
  EXPECT_EQ(leaves_of(level), 20U);
  EXPECT_EQ(leaves_of(leaf), 20U);
  EXPECT_EQ(level.trees[0].depth, 5U);  // 16 leaves on level 4, four of them split again
  EXPECT_LE(leaf.trees[0].depth, 8U);
  EXPECT_GT(leaf.trees[0].depth, 5U);
  options.max_depth = 3;
  EXPECT_EQ(grow(table, options).forest.trees[0].depth, 3U);
}

TEST(TreeBuilder, GrowthOrderDoesNotMatterWhileLeavesSuffice) {
  const TestTable table = random_table(1500, 12, 8);
  TreeOptions options = plain_options();
  options.max_depth = 5;
  const std::vector<double> level = grow(table, options).margins;
  options.growth = Growth::Leaf;
  EXPECT_EQ(grow(table, options).margins, level);
}

// The margins added while growing are what the finished tree predicts, for rows that it was grown
// on and others: cuts on numbers and on codes agree.
TEST(TreeBuilder, MarginsAreThePredictions) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const TestTable table = random_table(700, 9, seed);
    std::vector<uint32_t> rows;
    for (uint32_t i = 0; i < 700; i += 2) rows.push_back(i);
    const Grown t = grow(table, plain_options(), 1, rows);
    std::vector<float> scores(700);
    t.forest.predict(table.set().table, {}, 1, scores);
    for (size_t i = 0; i < 700; ++i)
      ASSERT_EQ(static_cast<double>(scores[i]), t.margins[i]) << seed;
  }
}

TEST(TreeBuilder, IsTheSameForAnyNumberOfThreads) {
  const TestTable table = random_table(20000, 40, 2);
  const Grown one = grow(table, plain_options(), 1);
  for (int threads : {2, 4}) {
    const Grown more = grow(table, plain_options(), threads);
    EXPECT_EQ(one.forest, more.forest);
    EXPECT_EQ(one.margins, more.margins);
  }
}

// Histograms that are kept and subtracted give what direct ones give: each leaf's value is that of
// its own rows, and no split with a higher gain was missed at the root of a large node.
TEST(TreeBuilder, LeavesHoldTheirRowsMeans) {
  const TestTable table = random_table(3000, 10, 11);
  const Grown t = grow(table, plain_options());
  std::vector<uint32_t> leaves(3000);
  t.forest.find_leaves(table.set().table, 0, leaves);
  std::vector<double> sums(t.forest.nodes.size()), counts(t.forest.nodes.size());
  for (size_t i = 0; i < leaves.size(); ++i) {
    sums[leaves[i]] += static_cast<double>(table.labels[i]);
    counts[leaves[i]] += 1;
  }
  for (uint32_t n = 0; n < t.forest.nodes.size(); ++n) {
    if (!t.forest.is_leaf(n)) continue;
    EXPECT_NEAR(static_cast<double>(t.forest.nodes[n].value), sums[n] / (counts[n] + 1), 1e-5);
    EXPECT_EQ(static_cast<double>(t.forest.stats[n].cover), counts[n]);
  }
}

}  // namespace
}  // namespace espalier::gbdt
