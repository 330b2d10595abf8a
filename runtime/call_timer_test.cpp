#include "espalier/runtime/call_timer.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

// Lasts so many microseconds.
void spin(double us) {
  const double end = now_us() + us;
  while (now_us() < end) {
  }
}

TEST(CallTimer, GivesTheTimeOfACall) {
  const std::function<void()> call = [] { spin(50); };
  CallTimer timer(call, 1);
  EXPECT_GE(timer.warm_up(), 50);
  EXPECT_GE(timer.batch(), 50);
}

TEST(CallTimer, ABatchOfShortCallsHasManyOfThem) {
  int64_t calls = 0;
  const std::function<void()> call = [&] { ++calls; };
  CallTimer timer(call, 0.5);
  timer.warm_up();
  const int64_t before = calls;
  timer.batch();
  EXPECT_GT(calls - before, 100);
}

TEST(CallTimer, ALongCallIsABatchOfItsOwn) {
  int64_t calls = 0;
  const std::function<void()> call = [&] {
    ++calls;
    spin(2000);
  };
  CallTimer timer(call, 1);
  timer.warm_up();
  timer.batch();
  EXPECT_EQ(calls, 2);
}

TEST(CallTimer, WithColdCachesEveryBatchIsOneCall) {
  const CacheFlusher flusher = CacheFlusher::make(1 << 20).value();
  int64_t calls = 0;
  const std::function<void()> call = [&] { ++calls; };
  CallTimer timer(call, 0.5, &flusher);
  timer.warm_up();
  const int64_t before = calls;
  timer.batch();
  EXPECT_EQ(calls - before, 1);
}

}  // namespace
}  // namespace espalier
