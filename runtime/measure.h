// Measuring: a candidate goes in, data about it comes out, whatever the candidate does.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/schedule/candidate.h"
#include "espalier/support/result.h"

namespace espalier {

enum class MeasureStatus : uint8_t {
  Ok,
  CompileError,  // rejected on replay, or lowering or LLVM failed
  RunError,      // crashed, trapped, wrote outside its buffers, ran out of memory
  Timeout,
  Wrong,  // ran, but the result is outside the error bound
};
std::string_view name_of(MeasureStatus s);  // "ok", "compile", "run", "timeout", "wrong"

struct MeasureResult {
  MeasureStatus status = MeasureStatus::CompileError;
  std::vector<double> times_us;  // every repeat, microseconds a call, in order
  double time_us = 0;            // robust centre of the repeats; 0 unless Ok
  bool abandoned = false;        // clearly slower than the best: timed by its first batch only
  double compile_ms = 0;         // lowering, passes and LLVM
  double check_ms = 0;
  double max_error = 0;  // largest |result - reference| over the outputs; floats only
  std::string error;     // status other than Ok: what happened, in a sentence
  bool ok() const { return status == MeasureStatus::Ok; }
};

struct MeasureOptions {
  int repeats = 3;  // batches timed, each of at least `min_batch_ms`
  // Batches of a candidate that would be the best so far, or is the first: luck should not make it
  // so.
  int leader_repeats = 7;
  double min_batch_ms = 5;
  double timeout_s = 10;                    // for compiling and for running one candidate, each
  int64_t memory_limit = int64_t{4} << 30;  // resident bytes of the worker above its start
  double abandon_ratio = 2;  // slower than this times the best so far after its first batch
  bool flush_cache = false;  // before each batch
  std::string worker;        // program run as `WORKER worker`; required
  std::vector<std::string> worker_args;  // further arguments, after `worker`
  uint64_t seed = 0;                     // of the inputs
  // Set: what is being measured fails at once, and so does what is asked for later.
  const std::atomic<bool>* interrupt = nullptr;
  bool interrupted() const { return interrupt != nullptr && *interrupt; }
};

// The median of the times (of an even number of them, the mean of the middle two); 0 if there are
// none.
double robust_centre(std::vector<double> times);

// Measures candidates of one task. Implementations: the worker process (runtime/worker_client.h),
// and recorded tables or fakes in tests.
class Measurer {
 public:
  virtual ~Measurer() = default;
  // One result a candidate, in order. `best_us` is the best time known so far (0: none).
  virtual std::vector<MeasureResult> measure(std::span<const Candidate> batch, double best_us) = 0;
  // The same; `done` hears of each result (its place in the batch) as soon as it is final, so that
  // it can be recorded before the next candidate brings the machine down.
  using ResultSink = std::function<void(size_t, const MeasureResult&)>;
  virtual std::vector<MeasureResult> measure_each(std::span<const Candidate> batch, double best_us,
                                                  const ResultSink& done) {
    std::vector<MeasureResult> results = measure(batch, best_us);
    for (size_t i = 0; i < results.size(); ++i) done(i, results[i]);
    return results;
  }
  // Times the given candidates round by round in random order, `rounds` rounds; every candidate
  // has been measured Ok before. times[c][r] in microseconds.
  virtual Result<std::vector<std::vector<double>>> interleave(std::span<const Candidate> candidates,
                                                              int rounds) = 0;
};

}  // namespace espalier
