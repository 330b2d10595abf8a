#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "espalier/runtime/rt/espalier_rt.h"

namespace {

struct PoolDeleter {
  void operator()(espalier_pool* p) const { espalier_pool_destroy(p); }
};
using Pool = std::unique_ptr<espalier_pool, PoolDeleter>;

struct Counts {
  std::vector<std::atomic<int>> hits;
  std::atomic<int> bad_slots{0};
  int slots;
  int64_t begin;
  Counts(int64_t n, int slots, int64_t begin) : hits(n), slots(slots), begin(begin) {}
  static void body(void* data, int64_t i, int32_t slot) {
    auto* c = static_cast<Counts*>(data);
    c->hits[i - c->begin]++;
    if (slot < 0 || slot >= c->slots) c->bad_slots++;
  }
};

void expect_each_once(espalier_context* ctx, int64_t begin, int64_t end, int64_t grain, int slots) {
  Counts c(std::max<int64_t>(0, end - begin), slots, begin);
  EXPECT_EQ(espalier_parallel_for(ctx, begin, end, grain, Counts::body, &c), 0);
  EXPECT_EQ(c.bad_slots, 0);
  for (auto& h : c.hits) ASSERT_EQ(h, 1);
}

TEST(ParallelFor, RunsSeriallyInSlotZeroWithoutContext) { expect_each_once(nullptr, 3, 50, 1, 1); }

TEST(ParallelFor, RunsSeriallyWithOneSlot) {
  espalier_context ctx = espalier_pool_context(nullptr);
  EXPECT_EQ(ctx.slots, 1);
  expect_each_once(&ctx, 0, 10, 1, 1);
}

TEST(ParallelFor, RunsNothingForAnEmptyRange) { expect_each_once(nullptr, 5, 2, 1, 1); }

TEST(Pool, RunsEveryIterationOnce) {
  Pool pool(espalier_pool_create(4));
  espalier_context ctx = espalier_pool_context(pool.get());
  for (int64_t n : {0, 1, 2, 3, 4, 5, 7, 64, 1000}) {
    for (int64_t grain : {0, 1, 3, 1000}) expect_each_once(&ctx, -2, n - 2, grain, 4);
  }
}

TEST(Pool, ManySmallLoopsInARow) {
  Pool pool(espalier_pool_create(3));
  espalier_context ctx = espalier_pool_context(pool.get());
  std::atomic<int64_t> sum{0};
  for (int r = 0; r < 3000; r++) {
    espalier_parallel_for(
        &ctx, 0, 5, 1,
        [](void* s, int64_t i, int32_t) { *static_cast<std::atomic<int64_t>*>(s) += i; }, &sum);
  }
  EXPECT_EQ(sum, 3000 * 10);
}

TEST(Pool, UsesNoMoreSlotsThanTheContextAllows) {
  Pool pool(espalier_pool_create(4));
  espalier_context ctx = espalier_pool_context(pool.get());
  ctx.slots = 2;
  for (int r = 0; r < 200; r++) expect_each_once(&ctx, 0, 64, 1, 2);
}

TEST(Pool, SlotsAreExclusiveWhileABodyRuns) {
  Pool pool(espalier_pool_create(4));
  espalier_context ctx = espalier_pool_context(pool.get());
  struct {
    std::atomic<int> inside[4] = {};
    std::atomic<int> clashes{0};
  } state;
  for (int r = 0; r < 50; r++) {
    espalier_parallel_for(
        &ctx, 0, 64, 1,
        [](void* data, int64_t, int32_t slot) {
          auto* s = static_cast<decltype(state)*>(data);
          if (s->inside[slot]++ != 0) s->clashes++;
          for (int i = 0; i < 200; i++) std::atomic_signal_fence(std::memory_order_seq_cst);
          s->inside[slot]--;
        },
        &state);
  }
  EXPECT_EQ(state.clashes, 0);
}

TEST(Pool, NestedLoopRunsInItsOwnThread) {
  Pool pool(espalier_pool_create(3));
  struct {
    espalier_context ctx;
    std::atomic<int> count{0};
  } state{espalier_pool_context(pool.get()), 0};
  espalier_parallel_for(
      &state.ctx, 0, 8, 1,
      [](void* data, int64_t, int32_t) {
        auto* s = static_cast<decltype(state)*>(data);
        espalier_parallel_for(
            &s->ctx, 0, 8, 1,
            [](void* d, int64_t, int32_t) { static_cast<decltype(state)*>(d)->count++; }, data);
      },
      &state);
  EXPECT_EQ(state.count, 64);
}

TEST(Pool, MayBeSharedByTwoThreads) {
  Pool pool(espalier_pool_create(3));
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; t++) {
    threads.emplace_back([&] {
      espalier_context ctx = espalier_pool_context(pool.get());
      for (int r = 0; r < 300; r++) expect_each_once(&ctx, 0, 40, 1, 3);
    });
  }
  for (auto& t : threads) t.join();
}

TEST(Pool, RefusesZeroSlots) { EXPECT_EQ(espalier_pool_create(0), nullptr); }

TEST(Pool, HookErrorsAreReturned) {
  espalier_context ctx{};
  ctx.slots = 2;
  ctx.parallel_for = [](espalier_context*, int64_t, int64_t, int64_t, espalier_body, void*) {
    return int32_t{42};
  };
  EXPECT_EQ(espalier_parallel_for(&ctx, 0, 2, 1, [](void*, int64_t, int32_t) {}, nullptr), 42);
}

TEST(Fmod, AgreesWithTheCLibraryOnRandomBits) {
  std::mt19937_64 rng(7);
  for (int i = 0; i < 200000; i++) {
    double x = std::bit_cast<double>(rng()), y = std::bit_cast<double>(rng());
    if (i % 2) y = std::bit_cast<double>((std::bit_cast<uint64_t>(x) & ~0xfffull) - (rng() << 45));
    const double got = espalier_fmod(x, y), want = std::fmod(x, y);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got)) << x << " " << y;
    } else {
      ASSERT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(want)) << x << " " << y;
    }
  }
}

TEST(Fmod, SpecialValues) {
  const double inf = INFINITY, tiny = 4.9406564584124654e-324;
  for (double x : {0.0, -0.0, 1.0, -1.0, 5.5, inf, -inf, tiny, -tiny, 2.2250738585072014e-308}) {
    for (double y : {0.0, -0.0, 1.0, -3.0, inf, -inf, tiny, 2.5}) {
      const double got = espalier_fmod(x, y), want = std::fmod(x, y);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << x << " " << y;
      } else {
        EXPECT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(want)) << x << " " << y;
      }
    }
  }
  EXPECT_TRUE(std::isnan(espalier_fmod(NAN, 1)));
  EXPECT_TRUE(std::isnan(espalier_fmod(1, NAN)));
}

}  // namespace
