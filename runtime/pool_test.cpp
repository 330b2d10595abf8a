#include "espalier/runtime/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace espalier {
namespace {

struct Tally {
  std::vector<std::atomic<int>> hits = std::vector<std::atomic<int>>(100);
  std::atomic<int> highest_slot = 0;
};

void count(void* data, int64_t i, int32_t slot) {
  auto* tally = static_cast<Tally*>(data);
  tally->hits[static_cast<size_t>(i)]++;
  int seen = tally->highest_slot;
  while (slot > seen && !tally->highest_slot.compare_exchange_weak(seen, slot)) {
  }
}

TEST(Pool, RunsEveryIterationOnce) {
  const Pool pool = Pool::make(3).value();
  espalier_context context = pool.context();
  Tally tally;
  EXPECT_EQ(espalier_parallel_for(&context, 0, 100, 1, count, &tally), 0);
  for (const auto& hits : tally.hits) EXPECT_EQ(hits, 1);
}

TEST(Pool, AContextMayUseFewerThreads) {
  const Pool pool = Pool::make(4).value();
  espalier_context context = pool.context(2);
  Tally tally;
  EXPECT_EQ(espalier_parallel_for(&context, 0, 100, 1, count, &tally), 0);
  EXPECT_LT(tally.highest_slot, 2);
}

TEST(Pool, RefusesNoThreads) { EXPECT_EQ(Pool::make(0).error().code, ErrorCode::InvalidArgument); }

TEST(Pool, MayBeMoved) {
  Pool a = Pool::make(2).value();
  const Pool b = std::move(a);
  EXPECT_EQ(b.threads(), 2);
}

}  // namespace
}  // namespace espalier
