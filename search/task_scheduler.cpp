#include "espalier/search/task_scheduler.h"

#include <algorithm>

#include "espalier/support/check.h"

namespace espalier {
namespace {

// Ansor's: how much the past counts against what may be hoped for, and how far back it goes.
constexpr double kAlpha = 0.2;
constexpr size_t kWindow = 3;
// What may be hoped for: this part of the time, less the more rounds there were. The schedules that
// a search starts with are good, so it is less than Ansor's 1.
constexpr double kHope = 0.15;
// A smaller gain is noise.
constexpr double kNoise = 0.005;
// A task is not worth going on with after so many rounds without a gain.
constexpr int kPatience = 6;
// Nor for a smaller gain than this part of the whole.
constexpr double kWorth = 1e-5;

}  // namespace

TaskScheduler::TaskScheduler(std::vector<ScheduledTask> tasks) {
  for (const ScheduledTask& t : tasks) {
    ESP_CHECK(t.weight >= 0 && t.bound_us >= 0, "weight ", t.weight, ", bound ", t.bound_us);
    State state;
    state.task = t;
    states_.push_back(std::move(state));
  }
}

double TaskScheduler::expected_gain(int task) const {
  const State& s = state(task);
  const double now = s.best_us.empty() ? 0 : s.best_us.back();
  // Nothing ran right so far: there may be no schedule that does, so it must not starve others.
  if (s.finished || now <= 0) return 0;
  double past = 0;
  if (s.best_us.size() > kWindow) {
    const double before = s.best_us[s.best_us.size() - 1 - kWindow];
    if (before > 0) past = (before - now) / static_cast<double>(kWindow);
  }
  double faster = 1;  // than was thought
  for (const State& other : states_) {
    const double best = other.best_us.empty() ? 0 : other.best_us.back();
    if (best > 0 && other.task.bound_us > 0) {
      faster = std::min(faster, best / other.task.bound_us);
    }
  }
  const double room = std::max(0.0, now - faster * s.task.bound_us);
  const double hope = std::min(room, kHope * now / static_cast<double>(s.best_us.size()));
  return s.task.weight * (kAlpha * past + (1 - kAlpha) * hope) / (1 + s.dry);
}

double TaskScheduler::priority(int task) const {
  const State& s = state(task);
  const double rounds = static_cast<double>(s.best_us.size());
  return expected_gain(task) * (rounds > 0 && s.seconds > 0 ? rounds / s.seconds : 1);
}

int TaskScheduler::next() const {
  double whole = 0;
  for (const State& s : states_) {
    if (!s.best_us.empty()) whole += s.task.weight * s.best_us.back();
  }
  int best = -1;
  for (int i = 0; i < static_cast<int>(states_.size()); ++i) {
    if (finished(i)) continue;
    // Each has a first round.
    if (state(i).best_us.empty()) return i;
    const bool hopeless = state(i).best_us.back() > 0 && expected_gain(i) <= kWorth * whole;
    if (!hopeless && (best < 0 || priority(i) > priority(best))) best = i;
  }
  return best;
}

void TaskScheduler::observe(int task, double best_us, double seconds) {
  State& s = states_[static_cast<size_t>(task)];
  const double before = s.best_us.empty() ? 0 : s.best_us.back();
  const bool gained =
      best_us > 0 && (before <= 0 || best_us < before * (1 - kNoise)) && !s.best_us.empty();
  // The first round is no disappointment.
  s.dry = gained || s.best_us.empty() ? 0 : s.dry + 1;
  s.best_us.push_back(best_us);
  s.seconds += std::max(0.0, seconds);
  if (s.dry >= kPatience) s.finished = true;
}

void TaskScheduler::finish(int task) { states_[static_cast<size_t>(task)].finished = true; }

}  // namespace espalier
