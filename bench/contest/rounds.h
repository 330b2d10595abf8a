// A contestant's work as a benchmark of the Google Benchmark library.
#pragma once

#include <functional>
#include <string>

#include "espalier/support/json.h"

namespace espalier::bench {

class Rounds {
 public:
  /// `flops` and `bytes` are those of one call of `call`, which must outlive this object.
  Rounds(std::string name, std::string label, const std::function<void()>& call, double flops,
         double bytes, double batch_ms)
      : name_(std::move(name)),
        label_(std::move(label)),
        call_(call),
        flops_(flops),
        bytes_(bytes),
        batch_ms_(batch_ms) {}

  /// Lets the library find how many calls last for a batch; all rounds then have so many.
  Result<void> calibrate();
  /// One batch: the library's JSON, with `context` and one entry under `benchmarks`, whose
  /// `real_time` is in microseconds a call.
  Result<Json> run() const;

 private:
  std::string name_, label_;
  const std::function<void()>& call_;
  double flops_, bytes_, batch_ms_;
  int64_t iterations_ = 0;  // a round; 0: not yet known
};

}  // namespace espalier::bench
