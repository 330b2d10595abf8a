#include <gtest/gtest.h>

#include <algorithm>

#include "espalier/schedule/candidate.h"

namespace espalier {
namespace {

Target avx512() { return parse_target("x86_64 features=+avx512f bits=512 regs=32").value(); }

std::vector<int64_t> tiles(int64_t extent) {
  return domain(SlotKind::Tile, extent, extent, avx512());
}

bool has(const std::vector<int64_t>& values, int64_t v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

TEST(Domain, AscendsWithoutRepeatsAndWithinTheRoom) {
  for (SlotKind kind : {SlotKind::Tile, SlotKind::Vector, SlotKind::Register, SlotKind::Unroll,
                        SlotKind::Prefetch}) {
    for (int64_t extent : {0, 1, 2, 3, 5, 7, 13, 31, 49, 127, 128, 129, 197, 1021, 1 << 20}) {
      for (int64_t room : {int64_t{1}, extent / 3, extent}) {
        const std::vector<int64_t> values = domain(kind, extent, room, avx512());
        ASSERT_FALSE(values.empty());
        EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
        EXPECT_EQ(std::adjacent_find(values.begin(), values.end()), values.end());
        EXPECT_LE(values.size(), 80u);
        // A vector may hang over by less than itself.
        const int64_t slack = kind == SlotKind::Vector ? 15 : 0;
        EXPECT_LE(values.back(), std::max<int64_t>(room, 1) + slack) << name_of(kind) << extent;
      }
    }
  }
}

TEST(Domain, HoldsEveryDivisor) {
  for (int64_t d : {1, 2, 3, 4, 6, 8, 12, 24, 48, 96, 192, 384})
    EXPECT_TRUE(has(tiles(384), d)) << d;
}

TEST(Domain, PrimeExtentsHaveBalancedParts) {
  const std::vector<int64_t> values = tiles(1021);
  for (int64_t parts : {2, 3, 4, 8, 16}) EXPECT_TRUE(has(values, (1021 + parts - 1) / parts));
}

TEST(Domain, VectorsAreWholeLanesWhereTheyFit) {
  const std::vector<int64_t> values = domain(SlotKind::Vector, 61, 61, avx512());
  for (int64_t v : {16, 32, 48, 64}) EXPECT_TRUE(has(values, v)) << v;
}

TEST(Domain, NarrowAxesOfferTheirWholeWidth) {
  EXPECT_TRUE(has(domain(SlotKind::Vector, 7, 7, avx512()), 7));
}

TEST(Domain, PartsOfAVectorAreNoChoiceWhereWholeOnesFit) {
  for (int64_t room : {64, 100, 3072}) {
    EXPECT_EQ(domain(SlotKind::Vector, 3072, room, avx512()).front(), 16) << room;
  }
}

TEST(Domain, RegisterTilesStaySmall) {
  const std::vector<int64_t> values = domain(SlotKind::Register, 3136, 3136, avx512());
  EXPECT_LE(values.back(), 32);
  for (int64_t v = 1; v <= 14; ++v) EXPECT_TRUE(has(values, v)) << v;
}

TEST(Domain, HugeExtentsAreAnsweredAtOnce) { EXPECT_FALSE(tiles((int64_t{1} << 61) - 1).empty()); }

}  // namespace
}  // namespace espalier
