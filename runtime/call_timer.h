// Timing repeated calls.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "espalier/runtime/mapping.h"
#include "espalier/support/result.h"

namespace espalier {

/// Microseconds since some moment, by a clock that only goes forward.
inline double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Reads and writes more memory than the caches hold, so that what was in them no longer is.
class CacheFlusher {
 public:
  /// `cache_bytes`: of the largest cache.
  static Result<CacheFlusher> make(int64_t cache_bytes);
  void flush() const;

 private:
  Mapping memory_;
};

/// Times batches of calls, each batch long enough for the clock.
class CallTimer {
 public:
  /// With a flusher each batch is one call with cold caches. The timer keeps references to both.
  CallTimer(const std::function<void()>& call, double min_batch_ms,
            const CacheFlusher* flusher = nullptr)
      : call_(call), min_batch_us_(min_batch_ms * 1e3), flusher_(flusher) {}

  /// Calls until an estimate of the time a call is good enough to size batches by: at least once,
  /// and a small part of a batch. Returns microseconds a call.
  double warm_up();
  /// One batch; microseconds a call. warm_up() first.
  double batch() const;

 private:
  double time_calls(int64_t calls) const;

  const std::function<void()>& call_;
  double min_batch_us_;
  const CacheFlusher* flusher_;
  int64_t calls_ = 1;
};

}  // namespace espalier
