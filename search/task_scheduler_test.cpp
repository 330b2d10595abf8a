#include "espalier/search/task_scheduler.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

// Rounds that each task gets when it gains as `time` says: (task, rounds so far) -> microseconds.
template <class Time>
std::vector<int> rounds_of(TaskScheduler* scheduler, size_t tasks, int rounds, const Time& time) {
  std::vector<int> given(tasks, 0);
  for (int i = 0; i < rounds; ++i) {
    const int task = scheduler->next();
    if (task < 0) break;
    ++given[static_cast<size_t>(task)];
    scheduler->observe(task, time(task, given[static_cast<size_t>(task)]), 1);
  }
  return given;
}

TEST(TaskScheduler, EachTaskHasARound) {
  TaskScheduler s({{1, 0}, {1000, 0}, {1, 0}});
  const auto given = rounds_of(&s, 3, 3, [](int, int) { return 100.0; });
  EXPECT_EQ(given, (std::vector<int>{1, 1, 1}));
}

TEST(TaskScheduler, WeightAndTimeDecideBetweenEqualHopes) {
  TaskScheduler s({{1, 0}, {5, 0}});
  const auto given = rounds_of(&s, 2, 40, [](int, int n) { return 100.0 / n; });
  EXPECT_GT(given[1], given[0]);
}

TEST(TaskScheduler, ATaskAtItsBoundGetsNoMore) {
  TaskScheduler s({{1, 100}, {1, 0}});
  const auto given =
      rounds_of(&s, 2, 20, [](int task, int n) { return task == 0 ? 100.0 : 100.0 / n; });
  EXPECT_EQ(given[0], 1);
}

TEST(TaskScheduler, RoundsWithoutAGainEndATask) {
  TaskScheduler s({{1, 0}});
  const auto given = rounds_of(&s, 1, 1000, [](int, int) { return 100.0; });
  EXPECT_LT(given[0], 20);
  EXPECT_TRUE(s.finished(0));
  EXPECT_EQ(s.next(), -1);
}

TEST(TaskScheduler, ATaskThatCannotImproveLosesPriority) {
  TaskScheduler s({{1, 0}, {1, 0}});
  const auto given = rounds_of(
      &s, 2, 12, [](int task, int n) { return task == 0 ? 100.0 : 100.0 * (1 - 0.01 * n); });
  EXPECT_LT(given[0], given[1]);
}

TEST(TaskScheduler, ATaskThatNeverRunsDoesNotStarveTheOthers) {
  TaskScheduler s({{1000, 0}, {1, 0}});
  const auto given =
      rounds_of(&s, 2, 30, [](int task, int n) { return task == 0 ? 0.0 : 100.0 / n; });
  EXPECT_GT(given[1], 20);
}

TEST(TaskScheduler, SlowRoundsCountForLess) {
  TaskScheduler s({{1, 0}, {1, 0}});
  s.observe(0, 100, 1);
  s.observe(1, 100, 10);
  EXPECT_EQ(s.next(), 0);
}

TEST(TaskScheduler, BoundsThatAreBeatenWereTooHigh) {
  // The first task shows that the machine is twice as fast as was thought.
  TaskScheduler s({{1, 100}, {1, 100}});
  const auto given =
      rounds_of(&s, 2, 4, [](int task, int n) { return task == 0 ? 50.0 : 100.0 / n; });
  EXPECT_GT(given[1], 1);
}

TEST(TaskScheduler, GainsThatNobodyWouldNoticeAreNotWaitedFor) {
  TaskScheduler s({{1, 0}, {1, 1e9}});
  const auto given =
      rounds_of(&s, 2, 100, [](int task, int n) { return task == 0 ? 100.0 / n : 1e9; });
  EXPECT_EQ(given[0], 1);
  EXPECT_EQ(s.next(), -1);
}

TEST(TaskScheduler, AFinishedTaskIsNeverNext) {
  TaskScheduler s({{1, 0}, {1, 0}});
  s.finish(0);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(s.next(), 1);
    s.observe(1, 100.0 / (i + 1), 1);
  }
}

}  // namespace
}  // namespace espalier
