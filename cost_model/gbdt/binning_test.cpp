#include "espalier/cost_model/gbdt/binning.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "espalier/cost_model/gbdt/test_tables.h"
#include "gtest/gtest.h"

namespace espalier::gbdt {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

BinnedTable bin_column(const std::vector<float>& values, int max_bins = kMaxBins) {
  return bin_table({values, values.size(), 1}, max_bins, 1);
}

TEST(Binning, FewValuesGetABinEachAndCutsMidway) {
  const BinnedTable binned = bin_column({3, 1, 2, 1, 8});
  EXPECT_EQ(binned.columns[0].cuts, (std::vector<float>{1.5F, 2.5F, 5.5F}));
  EXPECT_EQ(binned.codes, (std::vector<uint8_t>{3, 1, 2, 1, 4}));
  EXPECT_FALSE(binned.columns[0].missing);
}

TEST(Binning, ConstantColumnHasOneBin) {
  const BinnedTable binned = bin_column({7, 7, 7});
  EXPECT_EQ(binned.columns[0].bins(), 1);
  EXPECT_EQ(binned.codes, (std::vector<uint8_t>{1, 1, 1}));
}

TEST(Binning, MissingValuesHaveCodeZero) {
  const BinnedTable binned = bin_column({NAN, 2, NAN, 1});
  EXPECT_TRUE(binned.columns[0].missing);
  EXPECT_EQ(binned.codes, (std::vector<uint8_t>{0, 2, 0, 1}));
  const BinnedTable all = bin_column({NAN, NAN});
  EXPECT_EQ(all.columns[0].bins(), 1);
  EXPECT_EQ(all.codes, (std::vector<uint8_t>{0, 0}));
}

TEST(Binning, InfinitiesAreTheEndsAndCutsAreFinite) {
  const BinnedTable binned = bin_column({kInf, 0, -kInf, 1});
  EXPECT_EQ(binned.codes, (std::vector<uint8_t>{4, 2, 1, 3}));
  for (float cut : binned.columns[0].cuts) EXPECT_TRUE(std::isfinite(cut));
  EXPECT_EQ(binned.columns[0].code(kInf), 4);
  EXPECT_EQ(binned.columns[0].code(-kInf), 1);
  EXPECT_EQ(bin_column({-kInf, kInf}).codes, (std::vector<uint8_t>{1, 2}));
}

TEST(Binning, ZerosOfBothSignsAreOneValue) {
  EXPECT_EQ(bin_column({0.0F, -0.0F}).columns[0].bins(), 1);
}

TEST(Binning, NeighbouringFloatsAreToldApart) {
  const float a = 1, b = std::nextafter(a, 2.0F);
  const BinnedTable binned = bin_column({a, b});
  EXPECT_EQ(binned.codes, (std::vector<uint8_t>{1, 2}));
  EXPECT_EQ(binned.columns[0].code(a), 1);
  EXPECT_EQ(binned.columns[0].code(b), 2);
}

TEST(Binning, NoRowsAndOneRow) {
  EXPECT_EQ(bin_column({}).columns[0].bins(), 1);
  EXPECT_EQ(bin_column({5}).codes, (std::vector<uint8_t>{1}));
}

TEST(Binning, ManyValuesShareBinsEvenly) {
  std::vector<float> values(10000);
  Rng rng(3);
  for (float& v : values) v = static_cast<float>(rng.normal());
  const BinnedTable binned = bin_column(values, 50);
  std::vector<int> counts(51);
  for (uint8_t code : binned.codes) ++counts[code];
  EXPECT_EQ(binned.columns[0].bins(), 50);
  for (int bin = 1; bin <= 50; ++bin) EXPECT_NEAR(counts[static_cast<size_t>(bin)], 200, 2) << bin;
}

TEST(Binning, AFrequentValueSharesItsBinWithFew) {
  std::vector<float> values(500, 0.5F);
  for (int i = 0; i < 1000; ++i) values.push_back(static_cast<float>(i) / 1000);
  const BinnedTable binned = bin_column(values, 20);
  const uint8_t code = binned.columns[0].code(0.5F);
  EXPECT_LE(std::count(binned.codes.begin(), binned.codes.end(), code), 530);
  EXPECT_LE(binned.columns[0].bins(), 20);
  EXPECT_GE(binned.columns[0].bins(), 15);
}

// Codes agree with cuts, cuts ascend, and the limit holds, whatever the column.
TEST(Binning, RandomColumns) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::vector<float> values(rng.below(400));
    const uint64_t distinct = 1 + rng.below(300);
    for (float& v : values) {
      v = rng.chance(0.05) ? NAN : static_cast<float>(rng.below(distinct)) * 0.37F - 20;
      if (rng.chance(0.3)) v = -3;
      if (rng.chance(0.01)) v = kInf;
    }
    const int limit = static_cast<int>(rng.range(2, kMaxBins));
    const BinnedTable binned = bin_column(values, limit);
    const ColumnBins& bins = binned.columns[0];
    EXPECT_LE(bins.bins(), limit);
    EXPECT_TRUE(std::is_sorted(bins.cuts.begin(), bins.cuts.end(), std::less_equal<>()));
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(binned.codes[i], bins.code(values[i]));
  }
}

TEST(Binning, IsTheSameForAnyNumberOfThreads) {
  const TestTable table = random_table(5000, 50, 1);
  const BinnedTable one = bin_table(table.set().table, 255, 1);
  for (int threads : {2, 4}) {
    const BinnedTable more = bin_table(table.set().table, 255, threads);
    EXPECT_EQ(one.codes, more.codes);
  }
}

}  // namespace
}  // namespace espalier::gbdt
