#include "isolated.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace espalier {
namespace {

// Whether a child is told to be over its time before it ends by itself.
bool is_told_over(double seconds, const std::function<void()>& body) {
  const pid_t pid = start_child(nullptr, body);
  const ChildTimer timer(pid);
  bool over = false;
  while (!over && waitpid(pid, nullptr, WNOHANG) == 0) {
    over = timer.is_over(seconds);
    usleep(500);
  }
  if (over) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  return over;
}

TEST(ChildTimer, AChildThatComputesForEverIsOverItsTime) {
  EXPECT_TRUE(is_told_over(0.05, [] {
    for (volatile bool on = true; on;) {
    }
  }));
}

TEST(ChildTimer, AChildThatWaitsForEverIsOverItsTime) {
  EXPECT_TRUE(is_told_over(0.01, [] { pause(); }));
}

TEST(ChildTimer, AChildThatGetsNothingOfTheMachineIsNot) {
  EXPECT_FALSE(is_told_over(0.2, [] { usleep(400'000); }));
}

}  // namespace
}  // namespace espalier
