// What the machine can do, on as many threads as contestants have.
#pragma once

#include <cstdint>

#include "espalier/runtime/mapping.h"
#include "espalier/support/target.h"

namespace espalier::bench {

/// f32 multiply-adds in 1e9 operations per second (a multiply-add counts as two).
double peak_gflops(const Target& target, int threads);

/// Copies one buffer to another, each thread its part.
class CopyProbe {
 public:
  /// `bytes` is what a copy moves: half is read, half is written.
  static Result<CopyProbe> make(double bytes, int threads);
  /// Bytes beyond any cache of the target.
  static double beyond_caches(const Target& target);

  /// Microseconds of one copy, the mean over so many that they take about a given time.
  double copy_us(double milliseconds) const;
  double bytes() const { return 2.0 * static_cast<double>(half_); }

 private:
  Mapping memory_;
  int64_t half_ = 0;
  int threads_ = 1;
};

}  // namespace espalier::bench
