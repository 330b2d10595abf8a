#include "espalier/cost_model/gbdt/histogram.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "espalier/cost_model/gbdt/test_tables.h"
#include "gtest/gtest.h"

namespace espalier::gbdt {
namespace {

std::vector<uint32_t> first_numbers(size_t count) {
  std::vector<uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

TEST(Packed, KeepsBothPartsThroughSumsAndDifferences) {
  EXPECT_EQ(packed_g(pack(-5, 7)), -5);
  EXPECT_EQ(packed_h(pack(-5, 7)), 7);
  const Packed sum = pack(-2000000000, 2000000000) + pack(1999999999, 100000000);
  EXPECT_EQ(packed_g(sum), -1);
  EXPECT_EQ(packed_h(sum), 2100000000);
  EXPECT_EQ(packed_g(sum - pack(4, 2000000000)), -5);
  EXPECT_EQ(packed_h(sum - pack(4, 2000000000)), 100000000);
}

TEST(Blocks, LeaveOutColumnsThatCannotBeSplit) {
  TestTable table;
  table.columns = 3;
  table.values = {1, 5, NAN, 2, 5, 3};
  table.labels = {0, 0};
  const BinnedTable binned = bin_table(table.set().table, 255, 1);
  const std::vector<Block> blocks = make_blocks(binned, first_numbers(3));
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].columns, (std::vector<uint32_t>{0, 2}));  // those with missing values last
}

struct Case {
  TestTable table;
  BinnedTable binned;
  std::vector<Block> blocks;
  std::vector<Packed> packed;
  Packed total = 0;

  Case(size_t rows, size_t columns, uint64_t seed)
      : table(random_table(rows, columns, seed)),
        binned(bin_table(table.set().table, 20, 1)),
        blocks(make_blocks(binned, first_numbers(columns))) {
    Rng rng(seed + 1);
    for (size_t i = 0; i < rows; ++i) {
      packed.push_back(pack(static_cast<int32_t>(rng.range(-1000, 1000)),
                            static_cast<int32_t>(rng.range(1, 1000))));
      total += packed.back();
    }
  }
  std::vector<BinSums> histogram(const Block& block, const std::vector<uint32_t>& rows) const {
    std::vector<Packed> chosen;
    for (uint32_t i : rows) chosen.push_back(packed[i]);
    std::vector<BinSums> sums(block.codes_per_column());
    add_rows(block, rows, chosen.data(), sums.data());
    return sums;
  }
};

TEST(Histogram, SumsRowsByCode) {
  const Case c(300, 19, 1);
  const std::vector<uint32_t> rows = {0, 3, 4, 50, 299};
  for (const Block& block : c.blocks) {
    const std::vector<BinSums> sums = c.histogram(block, rows);
    for (size_t lane = 0; lane < block.columns.size(); ++lane) {
      for (size_t code = 0; code < sums.size(); ++code) {
        Packed expected = 0;
        for (uint32_t i : rows) {
          if (c.binned.column(block.columns[lane])[i] == code) expected += c.packed[i];
        }
        EXPECT_EQ(sums[code].lane[lane], expected);
      }
    }
  }
}

TEST(Histogram, WholeLessPartIsTheRest) {
  const Case c(300, 8, 2);
  std::vector<uint32_t> part, rest;
  for (uint32_t i = 0; i < 300; ++i) (i % 3 == 0 ? part : rest).push_back(i);
  for (const Block& block : c.blocks) {
    std::vector<BinSums> whole = c.histogram(block, first_numbers(300));
    const std::vector<BinSums> of_part = c.histogram(block, part),
                               of_rest = c.histogram(block, rest);
    subtract(whole.data(), of_part.data(), whole.size());
    for (size_t code = 0; code < whole.size(); ++code)
      EXPECT_EQ(whole[code].lane, of_rest[code].lane);
  }
}

// The definition, column by column.
BlockSplit best_by_definition(const Case& c, const Block& block, const SplitRule& rule) {
  BlockSplit best;
  std::vector<uint32_t> columns = block.columns;
  std::sort(columns.begin(), columns.end());
  for (uint32_t column : columns) {
    const uint8_t* codes = c.binned.column(column);
    for (int bin = 1; bin <= c.binned.columns[column].bins(); ++bin) {
      for (bool missing_right : {true, false}) {
        int64_t gl = 0, hl = 0;
        for (size_t i = 0; i < c.packed.size(); ++i) {
          if (codes[i] == 0 ? missing_right : codes[i] > bin) continue;
          gl += packed_g(c.packed[i]);
          hl += packed_h(c.packed[i]);
        }
        const int64_t gr = packed_g(rule.total) - gl, hr = packed_h(rule.total) - hl;
        if (hl < rule.min_hess || hr < rule.min_hess) continue;
        const float l = rule.lambda, a = static_cast<float>(hl) + l, b = static_cast<float>(hr) + l;
        const float fl = static_cast<float>(gl), fr = static_cast<float>(gr);
        const float gain = (fl * fl * b + fr * fr * a) / (a * b);
        if (gain > best.gain) best = {gain, column, bin, missing_right};
      }
    }
  }
  return best;
}

TEST(FindSplit, AgreesWithTheDefinition) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Case c(20 + 10 * seed, 21, seed);
    for (const Block& block : c.blocks) {
      const std::vector<BinSums> sums = c.histogram(block, first_numbers(c.packed.size()));
      const SplitRule rule{c.total, 100.0F * static_cast<float>(seed),
                           1 + 500 * static_cast<int32_t>(seed % 4)};
      const BlockSplit expected = best_by_definition(c, block, rule);
      const BlockSplit found = find_split(block, sums.data(), rule);
      ASSERT_EQ(found.gain, expected.gain) << "seed " << seed;
      EXPECT_EQ(found.column, expected.column);
      EXPECT_EQ(found.bin, expected.bin);
      EXPECT_EQ(found.missing_right, expected.missing_right);
    }
  }
}

TEST(FindSplit, FindsNoneWhereChildrenWouldBeTooLight) {
  const Case c(50, 8, 1);
  const std::vector<BinSums> sums = c.histogram(c.blocks[0], first_numbers(50));
  EXPECT_EQ(find_split(c.blocks[0], sums.data(), {c.total, 1, packed_h(c.total)}).gain, -1);
}

}  // namespace
}  // namespace espalier::gbdt
