// Measures candidates in a process of its own, which they may crash.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "espalier/runtime/measure.h"
#include "espalier/runtime/reference.h"
#include "espalier/runtime/shared_memory.h"
#include "espalier/runtime/worker_session.h"

namespace espalier {

/// Sends candidates to a worker process in batches. A worker that hangs, dies or takes too much
/// memory is replaced; what the candidate then gets is a failed MeasureResult. Of a batch whose
/// worker died, those that were being worked on are tried again one by one, so that only the
/// culprit fails. Inputs and reference are computed once and lie in memory shared with all workers.
///
/// One call at a time; different measurers are independent.
class WorkerMeasurer final : public Measurer {
 public:
  /// `schedule` gives the schedule that the reference is computed with, usually the default one.
  /// Fails if the task has no reference or the worker program cannot be started.
  static Result<std::unique_ptr<WorkerMeasurer>> make(
      const Task& task, const MeasureOptions& options,
      const std::function<Candidate(const Task&)>& schedule);
  /// With given inputs and constants instead of seeded ones, and their reference.
  static Result<std::unique_ptr<WorkerMeasurer>> make(const Task& task,
                                                      const MeasureOptions& options,
                                                      const std::vector<Array>& arguments,
                                                      const Reference& reference);

  std::vector<MeasureResult> measure(std::span<const Candidate> batch, double best_us) override;
  /// `done` hears of each result as soon as it is final, which may be in another order.
  std::vector<MeasureResult> measure_each(std::span<const Candidate> batch, double best_us,
                                          const ResultSink& done) override;
  Result<std::vector<std::vector<double>>> interleave(std::span<const Candidate> candidates,
                                                      int rounds) override;

  /// Ends the worker process; the next call starts another. For when nothing will be measured for
  /// some time.
  void rest() { session_.reset(); }
  /// Of the present worker process; -1 if there is none.
  pid_t worker_pid() const { return session_ ? session_->pid() : -1; }
  /// Workers started so far.
  int workers_started() const { return started_; }

 private:
  // A candidate on its way through the workers.
  struct Job {
    uint64_t number = 0;
    std::string trace;
    size_t place = 0;  // in the batch
    MeasureResult* result = nullptr;
    const ResultSink* sink = nullptr;
    bool done = false;           // the result is final
    bool killed_before = false;  // had a worker for itself that somebody killed
  };

  WorkerMeasurer(const Task& task, const MeasureOptions& options)
      : task_(task), options_(options) {}
  Result<void> ensure_worker();
  WorkerSession::Outcome run(const std::vector<Job*>& batch, double& best_us);
  void sort_out(const std::vector<Job*>& undone, const WorkerSession::Outcome& outcome,
                bool by_itself, std::vector<Job*>& group, std::vector<Job*>& alone) const;
  static void finish(Job& job);
  void fail(Job& job, MeasureStatus status, const std::string& what) const;
  std::string reproducer(const std::string& trace) const;

  Task task_;
  MeasureOptions options_;
  SharedMemory memory_;
  std::optional<WorkerSession> session_;
  uint64_t next_number_ = 0;
  int started_ = 0;
  bool worker_is_fresh_ = false;  // has worked on nothing yet
};

}  // namespace espalier
