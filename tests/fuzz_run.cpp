#include "fuzz_run.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <new>

#include "isolated.h"
#include "shrink.h"

namespace espalier {
namespace {

using Clock = std::chrono::steady_clock;

// What a worker tells: written by it, read by the parent when the worker has ended, except for
// `started`, by which the parent sees that it goes on.
struct Slot {
  std::atomic<uint64_t> started{0};  // cases
  uint64_t current = 0;
  bool failed = false;
  Activity activity{};
  Tally tally;
  SharedText text;
};

void work(const FuzzOptions& o, uint64_t first, uint64_t end, Clock::time_point stop, Slot& slot) {
  for (uint64_t n = first; n < end && Clock::now() < stop; n += static_cast<uint64_t>(o.jobs)) {
    slot.current = n;
    slot.activity = Activity::Draw;
    ++slot.started;
    ++slot.tally.cases;
    const FuzzCase c = o.source(o.seed, n, slot.tally, {});
    const Verdict v = compare_evaluations(c, o.depth, &slot.activity);
    if (v.failed()) {
      slot.failed = true;
      slot.text.set(v.text);
      return;
    }
    if (v.kind == Verdict::Kind::Refused) {
      ++slot.tally.refused;
    } else {
      ++slot.tally.compared;
      slot.tally.count_run(replay(c.task, c.trace).state());
    }
  }
}

// The text of a case that has failed, drawn again in a child; up to the step that crashes, if it
// was the drawing that did.
std::string case_text(const FuzzOptions& o, uint64_t number) {
  const SharedBytes memory(2 * sizeof(SharedText));
  auto* text = new (memory.data()) SharedText[2];
  const pid_t pid = start_child(&text[1], [&] {
    Tally tally;
    const FuzzCase c = o.source(o.seed, number, tally, [&](const std::string& s) { text->set(s); });
    text->set(to_string(c));
  });
  int status = 0;
  waitpid(pid, &status, 0);
  return text->get();
}

class Run {
 public:
  explicit Run(const FuzzOptions& o)
      : o_(o), memory_(sizeof(Slot) * static_cast<size_t>(o.jobs)), workers_(o.jobs) {
    slots_ = new (memory_.data()) Slot[static_cast<size_t>(o.jobs)];
    end_ = o.cases > INT64_MAX - static_cast<int64_t>(o.first)
               ? UINT64_MAX / 2
               : o.first + static_cast<uint64_t>(o.cases);
    stop_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(std::min(o.seconds, 1e7)));
  }

  FuzzReport run() {
    for (int w = 0; w < o_.jobs; ++w) start(w, o_.first + static_cast<uint64_t>(w));
    for (bool any = true; any;) {
      any = false;
      for (int w = 0; w < o_.jobs; ++w) any = watch(w) || any;
      if (any) usleep(2000);
    }
    for (int w = 0; w < o_.jobs; ++w) report_.tally.add(slots_[w].tally);
    report_.tally.failed = static_cast<int64_t>(report_.failures.size());
    for (FuzzFailure& f : report_.failures) {
      f.case_text = case_text(o_, f.number);
      if (o_.shrink_seconds <= 0) continue;
      const Activity activity = f.activity == Activity::Draw ? Activity::Replay : f.activity;
      f.case_text = shrink(f.case_text, activity, o_.depth, o_.shrink_seconds);
      // What is wrong with the short case says more.
      const Result<FuzzCase> c = parse_case(f.case_text);
      if (!c) continue;
      const Verdict v = compare_isolated(*c, o_.depth);
      if (v.failed()) f.what = v.text;
    }
    return std::move(report_);
  }

 private:
  struct Worker {
    pid_t pid = -1;
    uint64_t seen = 0;
    ChildTimer timer;  // of the case at hand
  };

  void start(int w, uint64_t first) {
    if (first >= end_ || Clock::now() > stop_ || report_.failures.size() >= o_.max_failures) return;
    Slot& slot = slots_[w];
    slot.failed = false;
    slot.text.set("");
    Worker& worker = workers_[static_cast<size_t>(w)];
    worker.seen = slot.started;
    worker.pid = start_child(&slot.text, [&] { work(o_, first, end_, stop_, slot); });
    worker.timer = ChildTimer(worker.pid);
  }

  // Whether the worker (or its successor) is still at it.
  bool watch(int w) {
    Worker& worker = workers_[static_cast<size_t>(w)];
    if (worker.pid < 0) return false;
    Slot& slot = slots_[w];
    int status = 0;
    if (waitpid(worker.pid, &status, WNOHANG) == 0) {
      if (slot.started != worker.seen) {
        worker.seen = slot.started;
        worker.timer = ChildTimer(worker.pid);
      } else if (worker.timer.is_over(o_.patience)) {
        slot.text.set("no end");
        kill(worker.pid, SIGKILL);
        worker.timer = ChildTimer(worker.pid);
      }
      return true;
    }
    worker.pid = -1;
    const std::string end = describe_end(status);
    if (end.empty() && !slot.failed) return false;
    const std::string text = slot.text.get();
    report_.failures.push_back(
        {slot.current, slot.activity, end.empty() ? text : end + ": " + text, ""});
    start(w, slot.current + static_cast<uint64_t>(o_.jobs));
    return worker.pid >= 0;
  }

  const FuzzOptions& o_;
  SharedBytes memory_;
  Slot* slots_ = nullptr;
  std::vector<Worker> workers_;
  uint64_t end_ = 0;
  Clock::time_point stop_;
  FuzzReport report_;
};

}  // namespace

FuzzReport run_fuzz(const FuzzOptions& options) { return Run(options).run(); }

std::string to_string(const FuzzFailure& f, uint64_t seed) {
  return "seed " + std::to_string(seed) + " case " + std::to_string(f.number) + ", " +
         std::string(name_of(f.activity)) + ": " + f.what + "\n" + f.case_text;
}

}  // namespace espalier
