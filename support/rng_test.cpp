#include "espalier/support/rng.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace espalier {
namespace {

// Seeds in records must give the same candidates for ever.
TEST(Rng, IsStable) {
  Rng rng(0);
  EXPECT_EQ(rng.next(), 11091344671253066420u);
  EXPECT_EQ(rng.next(), 13793997310169335082u);
}

TEST(Rng, SameSeedSameSequence) {
  Rng a(42), b(42);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next(), b.next());
}

TEST(Rng, BelowStaysBelowAndReachesAll) {
  Rng rng(1);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(rng.below(7));
  EXPECT_EQ(seen, (std::set<uint64_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(Rng, BelowOneIsZero) { EXPECT_EQ(Rng(5).below(1), 0u); }

// With n = 3·2^62, taking next() % n would give the lowest quarter of the values twice as often.
TEST(Rng, BelowIsUnbiasedForLargeRanges) {
  Rng rng(2);
  const uint64_t n = uint64_t{3} << 62;
  int low = 0;
  for (int i = 0; i < 30000; ++i) low += rng.below(n) < n / 3 ? 1 : 0;
  EXPECT_NEAR(low, 10000, 400);
}

TEST(Rng, RangeIncludesBothEnds) {
  Rng rng(3);
  std::set<int64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(rng.range(-1, 1));
  EXPECT_EQ(seen, (std::set<int64_t>{-1, 0, 1}));
}

TEST(Rng, RangeMayBeTheWholeType) {
  Rng rng(4);
  int negative = 0;
  for (int i = 0; i < 1000; ++i) {
    negative +=
        rng.range(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()) < 0;
  }
  EXPECT_NEAR(negative, 500, 100);
}

TEST(Rng, UniformIsInTheHalfOpenUnitInterval) {
  Rng rng(5);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double u = rng.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(Rng, NormalHasUnitVariance) {
  Rng rng(6);
  double sum = 0, squares = 0;
  for (int i = 0; i < 20000; ++i) {
    const double x = rng.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 20000, 0.0, 0.03);
  EXPECT_NEAR(squares / 20000, 1.0, 0.05);
}

TEST(Rng, ShuffleIsAPermutation) {
  std::vector<int> items(50);
  std::iota(items.begin(), items.end(), 0);
  std::vector<int> shuffled = items;
  Rng(7).shuffle(shuffled);
  EXPECT_NE(shuffled, items);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, items);
}

TEST(Rng, ForkIgnoresWhatHasBeenDrawn) {
  Rng fresh(8), used(8);
  for (int i = 0; i < 10; ++i) used.next();
  EXPECT_EQ(fresh.fork(3).next(), used.fork(3).next());
}

TEST(Rng, ForksDiffer) {
  Rng rng(9);
  std::set<uint64_t> firsts{rng.next()};
  for (uint64_t stream = 0; stream < 1000; ++stream) firsts.insert(Rng(9).fork(stream).next());
  EXPECT_EQ(firsts.size(), 1001u);
}

TEST(Rng, NestedForksDiffer) {
  EXPECT_NE(Rng(1).fork(0).fork(1).next(), Rng(1).fork(1).fork(0).next());
}

}  // namespace
}  // namespace espalier
