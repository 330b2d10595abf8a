#include "conductor/machine_probe.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "espalier/runtime/call_timer.h"
#include "espalier/runtime/probe.h"
#include "espalier/support/number.h"
#include "espalier/support/parallel.h"

namespace espalier::bench {
namespace {

constexpr int64_t kLine = 64;
// The target starts this far from the source modulo 4 KiB, so that loads do not wait for stores
// that agree with them in the low address bits.
constexpr int64_t kStagger = 2048 + kLine;

}  // namespace

double peak_gflops(const Target& target, int threads) {
  std::vector<double> each(static_cast<size_t>(threads), 0);
  parallel_for(threads, each.size(), [&](size_t i) { each[i] = probe_peak_gflops(target); });
  double sum = 0;
  for (double rate : each) sum += rate;
  return sum;
}

Result<CopyProbe> CopyProbe::make(double bytes, int threads) {
  CopyProbe probe;
  probe.threads_ = threads;
  probe.half_ = std::max<int64_t>(1, static_cast<int64_t>(bytes / 2));
  ESP_TRY(probe.memory_,
          Mapping::anonymous(2 * round_up(probe.half_, int64_t{4096}) + 2 * kStagger));
  memset(probe.memory_.data(), 1, static_cast<size_t>(probe.memory_.bytes()));
  return probe;
}

double CopyProbe::beyond_caches(const Target& target) {
  return 2.0 *
         static_cast<double>(std::clamp<int64_t>(2 * std::max(target.l3_bytes, target.l2_bytes),
                                                 int64_t{32} << 20, int64_t{128} << 20));
}

double CopyProbe::copy_us(double milliseconds) const {
  const int64_t part = round_up(ceil_div(half_, threads_), kLine);
  std::byte* from = memory_.data();
  std::byte* to = from + round_up(half_, int64_t{4096}) + kStagger;
  std::vector<double> each(static_cast<size_t>(threads_), 0);
  parallel_for(threads_, each.size(), [&](size_t thread) {
    const int64_t begin = std::min(half_, static_cast<int64_t>(thread) * part);
    const auto size = static_cast<size_t>(std::min(half_, begin + part) - begin);
    if (size == 0) return;
    const std::function<void()> copy = [&] {
      memcpy(to + begin, from + begin, size);
      asm volatile("" ::: "memory");
    };
    CallTimer timer(copy, milliseconds);
    timer.warm_up();
    each[thread] = timer.batch();
  });
  return *std::max_element(each.begin(), each.end());
}

}  // namespace espalier::bench
