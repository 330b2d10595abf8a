#include "espalier/support/half.h"

#include <bit>
#include <cmath>
#include <limits>

#include "espalier/support/hash.h"
#include "gtest/gtest.h"

namespace espalier {
namespace {

float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }

// 2^-25 is a tie between 0 and the least subnormal and goes to 0; the next float above does not.
TEST(Half, RoundsSubnormalsToNearestEven) {
  const struct {
    uint32_t from;
    uint16_t to;
  } cases[] = {{0x33000000, 0x0000}, {0x33000001, 0x0001}, {0x33400000, 0x0001},
               {0x337fffff, 0x0001}, {0x33800000, 0x0001}, {0x33c00000, 0x0002},
               {0x387fe000, 0x0400}, {0x32ffffff, 0x0000}, {0x00000001, 0x0000}};
  for (const auto& c : cases) {
    EXPECT_EQ(f16_from_float(float_of(c.from)), c.to) << std::hex << c.from;
    EXPECT_EQ(f16_from_float(float_of(c.from | 0x80000000)), c.to | 0x8000) << std::hex << c.from;
  }
}

TEST(Half, RoundsDoubleOnce) {
  const double value = 0.23504638671874997;
  EXPECT_EQ(f16_from_double(value), 0x3385);
  EXPECT_EQ(f16_from_float(static_cast<float>(value)), 0x3386);
}

TEST(Half, BrainFloatRoundsDoubleOnce) {
  const double value = 1.0 + 0x1p-8 + 0x1p-40;  // just above the tie, which as a float it would be
  EXPECT_EQ(bf16_from_double(value), 0x3f81);
  EXPECT_EQ(bf16_from_float(static_cast<float>(value)), 0x3f80);
}

TEST(Half, OverflowsToInfinityAtTheMidpoint) {
  EXPECT_EQ(f16_from_float(65504.0f), 0x7bff);
  EXPECT_EQ(f16_from_double(std::nextafter(65520.0, 0.0)), 0x7bff);
  EXPECT_EQ(f16_from_float(65520.0f), 0x7c00);
  EXPECT_EQ(f16_from_double(-1e300), 0xfc00);
  EXPECT_EQ(bf16_from_float(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(Half, KeepsInfinityAndTheSignOfZero) {
  EXPECT_EQ(f16_from_float(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(f16_from_float(-0.0f), 0x8000);
  EXPECT_TRUE(std::signbit(f16_to_float(0x8000)));
  EXPECT_EQ(bf16_from_double(-0.0), 0x8000);
}

TEST(Half, NanStaysNanEvenWithOnlyLowPayloadBits) {
  EXPECT_TRUE(std::isnan(f16_to_float(f16_from_float(float_of(0x7f800001)))));
  EXPECT_TRUE(std::isnan(bf16_to_float(bf16_from_float(float_of(0x7f800001)))));
  EXPECT_EQ(f16_from_double(std::numeric_limits<double>::quiet_NaN()), 0x7e00);
}

TEST(Half, EveryPatternRoundTrips) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (float wide = f16_to_float(half); !std::isnan(wide)) {
      EXPECT_EQ(f16_from_float(wide), half);
      EXPECT_EQ(f16_from_double(wide), half);
    }
    if (float wide = bf16_to_float(half); !std::isnan(wide)) {
      EXPECT_EQ(bf16_from_float(wide), half);
      EXPECT_EQ(bf16_from_double(wide), half);
    }
  }
}

// Between two neighbours: below the midpoint the lower, above it the upper, at it the even one.
TEST(Half, MidpointsGoToEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const double low = f16_to_float(static_cast<uint16_t>(bits));
    const double high = f16_to_float(static_cast<uint16_t>(bits + 1));
    const double middle = (low + high) / 2;
    EXPECT_EQ(f16_from_double(middle), (bits & 1) != 0 ? bits + 1 : bits);
    EXPECT_EQ(f16_from_double(std::nextafter(middle, 0.0)), bits);
    EXPECT_EQ(f16_from_double(std::nextafter(middle, 1e9)), bits + 1);
  }
}

TEST(Half, BrainFloatMatchesTheIntegerFormulaOnFloats) {
  uint64_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = hash_mix(state + i);
    const auto bits = static_cast<uint32_t>(state);
    if (std::isnan(float_of(bits))) continue;
    const uint32_t expected = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    EXPECT_EQ(bf16_from_float(float_of(bits)), expected) << std::hex << bits;
  }
}

}  // namespace
}  // namespace espalier
