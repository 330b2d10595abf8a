#include "espalier/support/parallel.h"

#include <atomic>
#include <vector>

#include "espalier/support/rng.h"
#include "gtest/gtest.h"

namespace espalier {
namespace {

TEST(ParallelFor, VisitsEveryIndexOnce) {
  for (int threads : {1, 2, 5}) {
    for (size_t n : {0u, 1u, 2u, 1000u}) {
      std::vector<std::atomic<int>> visits(n);
      parallel_for(threads, n, [&](size_t i) { ++visits[i]; });
      for (size_t i = 0; i < n; ++i) EXPECT_EQ(visits[i], 1);
    }
  }
}

TEST(ParallelFor, SlotsAreInRangeAndNotShared) {
  std::atomic<int> in_use[3] = {};
  parallel_for(3, 500, [&](size_t, int slot) {
    ASSERT_GE(slot, 0);
    ASSERT_LT(slot, 3);
    EXPECT_EQ(in_use[slot].fetch_add(1), 0);
    in_use[slot].fetch_sub(1);
  });
}

TEST(ParallelFor, NonPositiveThreadsMeanOne) {
  int calls = 0;
  parallel_for(0, 3, [&](size_t) { ++calls; });
  parallel_for(-4, 3, [&](size_t) { ++calls; });
  EXPECT_EQ(calls, 6);
}

TEST(ParallelFor, ForkedStreamsDoNotDependOnTheThreadCount) {
  auto draw = [](int threads) {
    std::vector<uint64_t> drawn(100);
    const Rng rng(7);
    parallel_for(threads, drawn.size(), [&](size_t i) { drawn[i] = rng.fork(i).next(); });
    return drawn;
  };
  EXPECT_EQ(draw(1), draw(4));
}

TEST(ParallelFor, WritesAreVisibleAfterwards) {
  std::vector<int> squares(1000);
  parallel_for(4, squares.size(), [&](size_t i) { squares[i] = static_cast<int>(i * i); });
  for (size_t i = 0; i < squares.size(); ++i) ASSERT_EQ(squares[i], static_cast<int>(i * i));
}

}  // namespace
}  // namespace espalier
