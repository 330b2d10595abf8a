#include "espalier/support/hash.h"

#include <set>

#include "gtest/gtest.h"

namespace espalier {
namespace {

// Records store hashes, so these values may never change.
TEST(Hash, IsStable) {
  EXPECT_EQ(hash_to_hex(hash_mix(1)), "5692161d100b05e5");
  EXPECT_EQ(hash_to_hex(hash_string("")), "48218226ff3cd4bf");
  EXPECT_EQ(hash_to_hex(hash_string("espalier: a tree trained along a frame")), "05983d96c1ccb3b3");
}

TEST(Hash, OrderMatters) {
  EXPECT_NE(hash_combine(hash_combine(0, 1), 2), hash_combine(hash_combine(0, 2), 1));
}

TEST(Hash, LengthMatters) { EXPECT_NE(hash_bytes("\0", 1), hash_bytes("\0\0", 2)); }

TEST(Hash, SeedMatters) { EXPECT_NE(hash_string("a", 0), hash_string("a", 1)); }

TEST(Hash, ZeroIsNotAFixedPointOfCombine) { EXPECT_NE(hash_combine(0, 0), 0u); }

TEST(Hash, DoesNotDependOnAlignment) {
  const char text[] = "xabcdefghijk";
  EXPECT_EQ(hash_bytes(text + 1, 11), hash_string("abcdefghijk"));
}

TEST(Hash, SmallIntegersDoNotCollide) {
  std::set<uint64_t> seen;
  for (uint64_t a = 0; a < 100; ++a) {
    for (uint64_t b = 0; b < 100; ++b) seen.insert(hash_combine(hash_combine(0, a), b));
  }
  EXPECT_EQ(seen.size(), 10000u);
}

TEST(Hash, FlippingAnyBitChangesAboutHalf) {
  for (int bit = 0; bit < 64; ++bit) {
    int flipped = std::popcount(hash_mix(12345) ^ hash_mix(12345 ^ (uint64_t{1} << bit)));
    EXPECT_GT(flipped, 12) << bit;
    EXPECT_LT(flipped, 52) << bit;
  }
}

TEST(Hash, HexKeepsLeadingZeros) { EXPECT_EQ(hash_to_hex(0xabc), "0000000000000abc"); }

}  // namespace
}  // namespace espalier
