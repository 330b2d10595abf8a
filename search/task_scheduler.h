// TaskScheduler: which of many tasks the next round of tuning goes to.
#pragma once

#include <cstddef>
#include <vector>

namespace espalier {

// A task as the scheduler sees it. Times in microseconds.
struct ScheduledTask {
  double weight = 1;    // occurrences
  double bound_us = 0;  // no schedule should be faster: arithmetic and traffic at full speed
};

// The gradient of Ansor's task scheduler (OSDI 2020, section 6.3), with changes: what a round may
// gain is bounded by the distance to the task's own bound rather than to zero, gains are counted a
// second instead of a round, and a task whose rounds bring nothing loses priority and then ends, as
// does one whose gain would not be noticed in the whole. Where some task is faster than its bound,
// the machine is faster than was thought, and all bounds are lowered alike.
class TaskScheduler {
 public:
  explicit TaskScheduler(std::vector<ScheduledTask> tasks);

  // The task that probably gains the most by the next round; -1: none is worth going on with.
  int next() const;
  // A round of the task: its best time afterwards (0: nothing ran right yet), and what the round
  // took.
  void observe(int task, double best_us, double seconds);
  // The task has nothing more to propose.
  void finish(int task);

  bool finished(int task) const { return state(task).finished; }
  // Weighted microseconds a second that a round of the task is expected to gain.
  double priority(int task) const;

 private:
  struct State {
    ScheduledTask task;
    std::vector<double> best_us;  // after each round
    double seconds = 0;           // of all rounds
    int dry = 0;                  // rounds in a row without a gain
    bool finished = false;
  };
  const State& state(int task) const { return states_[static_cast<size_t>(task)]; }
  double expected_gain(int task) const;  // by a round, in weighted microseconds

  std::vector<State> states_;
};

}  // namespace espalier
