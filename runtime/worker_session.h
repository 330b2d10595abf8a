// One worker process with a task loaded, watched while it works.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "espalier/runtime/worker_process.h"
#include "espalier/runtime/worker_protocol.h"

namespace espalier {

class WorkerSession {
 public:
  /// Starts `program` with the arguments and gives it the task, whose arrays are in the shared
  /// memory of `memory_fd`. Time and memory limits are those of the task's options. A process that
  /// is killed before it is ready is started once more.
  static Result<WorkerSession> start(const std::string& program,
                                     const std::vector<std::string>& arguments,
                                     const TaskMessage& task, int memory_fd);

  /// How a request ended. Unless it was answered, the process is gone.
  struct Outcome {
    enum class Kind { Answered, Died, Hung, TooMuchMemory, Interrupted } kind = Kind::Answered;
    std::string how;               // not answered: what happened, as a clause about the worker
    int signal = 0;                // Died: what killed it, 0 if it exited
    std::vector<uint64_t> active;  // not answered: the candidates it was working on; Hung: those
                                   // whose time was up
    bool running = false;          // the one active candidate was running, not compiling
  };

  /// Sends a batch; `on_result` gets each result as it arrives.
  Outcome measure(const BatchMessage& batch,
                  const std::function<void(uint64_t number, MeasureResult)>& on_result);
  /// The times, or why the worker refused, in `failure`.
  Outcome interleave(const InterleaveMessage& message, TimesMessage& times, std::string& failure);

  pid_t pid() const { return process_.pid(); }

 private:
  struct Activity {
    WorkerPhase phase = WorkerPhase::Compile;
    double since_us = 0;
  };

  WorkerSession(WorkerProcess process, const MeasureOptions& options)
      : process_(std::move(process)), options_(options) {}
  static Result<WorkerSession> start_once(const std::string& program,
                                          const std::vector<std::string>& arguments,
                                          TaskMessage task, int memory_fd, int& signal);
  // Sends a request and hands every answer but progress to `on_answer`, until that returns true.
  Outcome converse(const std::string& request, const std::function<bool(const Frame&)>& on_answer);
  Outcome gone(Outcome::Kind kind, std::string how, int signal = 0);
  bool note_progress(const Frame& frame);
  void advance_clock();

  WorkerProcess process_;
  MeasureOptions options_;
  int64_t memory_at_start_ = 0;  // of the process, before its first candidate
  std::map<uint64_t, Activity> activities_;
  // What deadlines go by: wall time, less the time in which the process was kept from running, so
  // that a busy machine fails no candidate. Microseconds.
  double clock_us_ = 0;
  double wall_us_ = 0, cpu_us_ = 0;  // when it was last advanced
};

}  // namespace espalier
