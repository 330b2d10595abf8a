#include "espalier/transfer/refit.h"

#include <gtest/gtest.h>

#include "espalier/support/number.h"
#include "espalier/support/rng.h"

namespace espalier {
namespace {

const Target kAvx2 =
    parse_target("x86_64 features=+avx2 bits=256 regs=16 l2=524288 cores=2").value();
const Target kAvx512 =
    parse_target("x86_64 features=+avx512f bits=512 regs=32 l2=1048576 cores=2").value();

SplitRefit refitted(FactorUse use, int64_t value, int64_t donor_extent, int64_t target_extent,
                    const Target& from = kAvx2, const Target& to = kAvx2) {
  SplitRefit split{donor_extent, target_extent, false, {{use, value, value, RefitRule::Kept}}};
  refit_split(&split, std::nullopt, {from, to});
  return split;
}

int64_t value_of(FactorUse use, int64_t value, int64_t donor_extent, int64_t target_extent,
                 const Target& from = kAvx2, const Target& to = kAvx2) {
  return refitted(use, value, donor_extent, target_extent, from, to).factors[0].target;
}

TEST(Refit, KeepsWhatWasMeasuredOnTheSameExtentAndMachine) {
  for (int64_t extent : {1, 7, 49, 64, 97, 100}) {
    for (int64_t value : {1, 3, 6, 14, 48}) {
      for (FactorUse use :
           {FactorUse::Vector, FactorUse::Register, FactorUse::Straight, FactorUse::Tile}) {
        EXPECT_EQ(value_of(use, value, extent, extent), value);
      }
    }
  }
}

TEST(Refit, RowsNeverExceedTheExtent) {
  EXPECT_EQ(value_of(FactorUse::Register, 6, 128, 1), 1);
  EXPECT_EQ(value_of(FactorUse::Register, 14, 56, 7), 7);
  EXPECT_EQ(value_of(FactorUse::Register, 6, 56, 13), 5) << "three of five, five and three";
}

TEST(Refit, RowsTakeTheNearestDivisor) {
  EXPECT_EQ(value_of(FactorUse::Register, 6, 60, 49), 7);
  EXPECT_EQ(value_of(FactorUse::Register, 6, 60, 28), 7);
}

TEST(Refit, RowsOfManyTilesStay) { EXPECT_EQ(value_of(FactorUse::Register, 6, 60, 1021), 6); }

TEST(Refit, LanesStayWholeVectors) {
  EXPECT_EQ(value_of(FactorUse::Vector, 16, 64, 49), 16);
  EXPECT_EQ(value_of(FactorUse::Vector, 32, 64, 24), 24);
  EXPECT_EQ(value_of(FactorUse::Vector, 32, 64, 17), 24) << "three vectors cover 17";
}

TEST(Refit, LanesOfNarrowAxesAreTheAxis) {
  EXPECT_EQ(value_of(FactorUse::Vector, 32, 64, 7), 7);
  EXPECT_EQ(value_of(FactorUse::Vector, 32, 64, 1), 1);
}

TEST(Refit, AsManyVectorsOfTheOtherWidth) {
  EXPECT_EQ(value_of(FactorUse::Vector, 16, 256, 256, kAvx2, kAvx512), 32);
  EXPECT_EQ(value_of(FactorUse::Vector, 64, 256, 256, kAvx512, kAvx2), 32);
}

TEST(Refit, TilesForTheCacheGrowWithIt) {
  const SplitRefit split = refitted(FactorUse::Tile, 32, 1024, 1024, kAvx2, kAvx512);
  EXPECT_GT(split.factors[0].target, 32);
  EXPECT_EQ(split.factors[0].rule, RefitRule::Cache);
}

TEST(Refit, AWholeExtentStaysWhole) {
  EXPECT_EQ(value_of(FactorUse::Tile, 64, 64, 100), 100);
  EXPECT_EQ(value_of(FactorUse::Tile, 64, 64, 1000), 64) << "not when it outgrew the tile";
}

TEST(Refit, ThreadsGetTheirShare) {
  SplitRefit split{1024, 64, true, {{FactorUse::Tile, 64, 64, RefitRule::Kept}}};
  refit_split(&split, std::nullopt, {kAvx2, kAvx2, 4, 4, 2, 2});
  EXPECT_EQ(split.factors[0].target, 16);
  EXPECT_EQ(split.factors[0].rule, RefitRule::Cores);
}

TEST(Refit, ATileForOtherRegistersIsChosenAnew) {
  const auto tile = refit_tile({6, 16}, 128, 512, false, {kAvx2, kAvx512});
  ASSERT_TRUE(tile.has_value());
  EXPECT_EQ(tile->columns % 16, 0);
  EXPECT_LE(tile->rows * tile->columns / 16, 30);
  EXPECT_GT(tile->rows * tile->columns, 6 * 16);
}

TEST(Refit, ANarrowTileGetsMoreRows) {
  const auto tile = refit_tile({5, 16}, 128, 8, false, {kAvx2, kAvx2});
  ASSERT_TRUE(tile.has_value());
  EXPECT_EQ(tile->columns, 8);
  EXPECT_EQ(tile->rows, 10);
}

TEST(Refit, ATileThatFitsIsLeftAlone) {
  EXPECT_FALSE(refit_tile({6, 16}, 128, 512, false, {kAvx2, kAvx2}).has_value());
}

// Whatever comes in: values of at least one that waste at most a tile, and whole vectors.
TEST(Refit, RandomSplitsStaySane) {
  Rng rng(11);
  const int64_t extents[] = {1, 2, 3, 7, 13, 16, 31, 49, 64, 97, 127, 128, 129, 1021, 4096};
  for (int i = 0; i < 20000; ++i) {
    SplitRefit split;
    split.donor_extent = extents[rng.below(std::size(extents))];
    split.target_extent = extents[rng.below(std::size(extents))];
    split.outer_is_parallel = rng.chance(0.3);
    for (int64_t n = rng.range(1, 3); n > 0; --n) {
      const auto use = static_cast<FactorUse>(rng.below(4));
      const int64_t value = rng.range(1, 64);
      split.factors.push_back({use, value, value, RefitRule::Kept});
    }
    const Target& from = rng.chance(0.5) ? kAvx2 : kAvx512;
    const Target& to = rng.chance(0.5) ? kAvx2 : kAvx512;
    const bool same =
        split.donor_extent == split.target_extent && from.vector_bits == to.vector_bits;
    refit_split(&split, std::nullopt, {from, to, 4, 4, 2, 2});
    int64_t left = split.target_extent;
    for (size_t k = split.factors.size(); k-- > 0;) {
      const RefitFactor& f = split.factors[k];
      ASSERT_GE(f.target, 1) << "case " << i;
      if (!same) {
        const int64_t most =
            f.use == FactorUse::Vector ? round_up(left, to.lanes(4)) : std::max<int64_t>(left, 1);
        ASSERT_LE(f.target, most) << "case " << i;
      }
      left = ceil_div(left, f.target);
    }
  }
}

}  // namespace
}  // namespace espalier
