// TuningRun: a task while it is being tuned, a batch at a time.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "espalier/search/database.h"
#include "espalier/search/tuner.h"

namespace espalier {

// What tune() does, for callers that divide a budget among tasks: start, then batches, then finish.
// Task, options and measurer must outlive it.
class TuningRun {
 public:
  // Errors as of tune().
  static Result<std::unique_ptr<TuningRun>> make(const Task& task, const TuneOptions& options,
                                                 Measurer& measurer);

  // The default schedule, then the seeds, at most `trials` in all, the default at least.
  Result<void> start(int trials);
  // One batch of at most `trials` candidates. False: the policy has nothing more to propose.
  Result<bool> advance(int trials);
  // Compares the fastest with the default schedule. `why` is what ended the search; the end of a
  // policy is told apart into Converged and Exhausted.
  Result<TuneReport> finish(StopReason why);

  const Task& task() const { return task_; }
  int trials() const { return static_cast<int>(history_.observations().size()); }
  double best_us() const { return report_.best_us; }  // 0: none ran right yet
  // Wall time of the last batch, a candidate; 0: everything was known.
  double seconds_per_trial() const { return batch_seconds_; }
  double elapsed() const { return clock_() - started_; }
  bool interrupted() const {
    return options_.interrupt != nullptr && options_.interrupt->load(std::memory_order_relaxed);
  }

 private:
  TuningRun(const Task& task, const TuneOptions& options, Measurer& measurer);

  void warn(const std::string& text) const {
    if (options_.log) options_.log(text);
  }
  SearchContext context() const {
    return {space_, Rng(options_.seed), history_, options_.search_threads, options_.trials};
  }
  Result<void> open_records();
  std::vector<Proposal> ask_policy(int n);
  bool all_measured() const;
  double models_seconds() const;
  Result<void> evaluate(std::vector<Proposal> proposals);
  TuningRecord make_record(int trial, const Proposal& proposal, const std::string& trace,
                           const MeasureResult& result) const;
  void count(const Observation& o, int trial, bool from_records);
  void attribute(double wall, std::span<const MeasureResult> results);
  Result<void> choose_winner();
  void measure_naive();
  Error nothing_ran() const;

  const Task& task_;
  const TuneOptions& options_;
  Measurer& measurer_;
  SketchSpace space_;
  std::function<double()> clock_;
  double started_;

  std::unique_ptr<SearchPolicy> owned_policy_;
  SearchPolicy* policy_ = nullptr;
  RunKey key_;
  Database database_;
  std::unordered_map<std::string, size_t> answers_;  // trace text -> record of the same run
  bool has_final_ = false;                           // that run was finished before
  bool measured_ = false;                            // and something more was measured now
  History history_;
  std::vector<int> trial_of_;  // by observation
  double batch_seconds_ = 0;
  TuneReport report_;
};

// Errors: options that make no sense, or an unknown policy.
Result<void> check_options(const TuneOptions& options);

}  // namespace espalier
