#include "espalier/runtime/call_timer.h"

#include <algorithm>
#include <cmath>

namespace espalier {

Result<CacheFlusher> CacheFlusher::make(int64_t cache_bytes) {
  CacheFlusher flusher;
  const int64_t bytes = std::clamp(2 * cache_bytes, int64_t{8} << 20, int64_t{512} << 20);
  ESP_TRY(flusher.memory_, Mapping::anonymous(bytes));
  return flusher;
}

void CacheFlusher::flush() const {
  volatile std::byte* memory = memory_.data();
  for (int64_t at = 0; at < memory_.bytes(); at += 64) {
    memory[at] = static_cast<std::byte>(std::to_integer<int>(memory[at]) + 1);
  }
}

double CallTimer::time_calls(int64_t calls) const {
  const double start = now_us();
  for (int64_t i = 0; i < calls; ++i) call_();
  return (now_us() - start) / static_cast<double>(calls);
}

double CallTimer::warm_up() {
  // Doubles the number of calls until they last a tenth of a batch: the first ones pay for page
  // faults, cold caches and a sleeping clock.
  int64_t calls = 1;
  double us = time_calls(1);
  while (us * static_cast<double>(calls) < min_batch_us_ / 10 && calls < int64_t{1} << 30) {
    calls *= 2;
    us = time_calls(calls);
  }
  if (flusher_ == nullptr) {
    calls_ = std::max<int64_t>(1, std::llround(std::ceil(min_batch_us_ / std::max(us, 1e-3))));
  }
  return us;
}

double CallTimer::batch() const {
  if (flusher_ != nullptr) flusher_->flush();
  return time_calls(calls_);
}

}  // namespace espalier
