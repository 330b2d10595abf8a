// Compiles, checks and times candidates of one task in this process.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "espalier/runtime/array_arena.h"
#include "espalier/runtime/call_timer.h"
#include "espalier/runtime/guarded_buffer.h"
#include "espalier/runtime/kernel.h"
#include "espalier/runtime/measure.h"
#include "espalier/runtime/pool.h"
#include "espalier/runtime/result_check.h"
#include "espalier/runtime/worker_hooks.h"

namespace espalier {

/// What a candidate does wrong it does to this process, which is why a worker process uses this
/// (runtime/worker_server.h). Candidates are checked on buffers between faulting pages, with
/// outputs and scratch memory full of NaN and inputs that cannot be written, and then timed on an
/// arena.
class CandidateRunner {
 public:
  /// `arguments` are the DAG's inputs, then its constants, and are copied; what `expected` points
  /// at must outlive the runner.
  static Result<CandidateRunner> make(Task task, std::span<const ArrayView> arguments,
                                      std::vector<ExpectedOutput> expected,
                                      const MeasureOptions& options);

  /// Replays, lowers and compiles a trace; safe to call in several threads at once. On failure
  /// `result` says why; on success it has the time taken.
  std::optional<Kernel> compile(const std::string& trace, MeasureResult& result) const;

  /// Checks a kernel and then times it; `best_us` of 0 is none. Fills in `result`. `hooks` may be
  /// null.
  void run(const Kernel& kernel, double best_us, WorkerHooks* hooks, uint64_t number,
           MeasureResult& result) const;

  /// Times the kernels round by round, in an order drawn anew for each round: [kernel][round], in
  /// microseconds. `progress` is called before each batch.
  Result<std::vector<std::vector<double>>> interleave(std::span<const Kernel> kernels, int rounds,
                                                      uint64_t seed,
                                                      const std::function<void()>& progress) const;

  const Task& task() const { return *task_; }

 private:
  CandidateRunner() = default;
  // `call_us`: what the one call took, cold.
  bool check(const Kernel& kernel, WorkerHooks* hooks, uint64_t number, MeasureResult& result,
             double* call_us) const;
  void time(const Kernel& kernel, double best_us, double deadline_us, MeasureResult& result) const;
  // A kernel bound to the constants of the arena, with its arguments and scratch memory there.
  struct Prepared;
  Result<Prepared> prepare(const Kernel& kernel) const;
  std::string stray_write(const GuardedBuffer& workspace) const;

  std::shared_ptr<const Task> task_;
  MeasureOptions options_;
  std::vector<ExpectedOutput> expected_;
  std::vector<GuardedBuffer> guarded_;  // inputs, constants, outputs
  std::vector<ArrayView> guarded_inputs_, guarded_constants_, guarded_outputs_;
  ArrayArena arena_;
  std::vector<ArrayView> inputs_, constants_, outputs_;  // in the arena
  std::optional<Pool> pool_;                             // if there is more than one thread
  std::optional<CacheFlusher> flusher_;
};

}  // namespace espalier
