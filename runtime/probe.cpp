#include "espalier/runtime/probe.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "espalier/runtime/array_arena.h"
#include "espalier/runtime/call_timer.h"
#include "espalier/runtime/pool.h"
#include "espalier/runtime/probe_kernels.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

// Rounds per second of a loop, the best of runs of about a millisecond that take `seconds` in all.
template <class Run>
double best_rate(double seconds, const Run& run) {
  constexpr double kRunUs = 1000;
  int64_t rounds = 1;
  double best = 0;
  const double end = now_us() + seconds * 1e6;
  do {
    const double start = now_us();
    run(rounds);
    const double us = std::max(now_us() - start, 1e-3);
    best = std::max(best, static_cast<double>(rounds) / us * 1e6);
    if (us < kRunUs / 2) {
      // Growth by 16 at most: a first run may be slow for reasons of its own.
      rounds = static_cast<int64_t>(static_cast<double>(rounds) * std::min(16.0, kRunUs / us)) + 1;
    }
  } while (now_us() < end);
  return best;
}

// Bytes per second of reading a buffer of so many bytes again and again.
double read_rate(const ProbeKernels& kernels, int64_t bytes, double seconds) {
  bytes = round_up(bytes, 8 * kernels.vector_bytes);
  const auto arena = ArrayArena::make({&bytes, 1});
  if (!arena.ok()) return 0;
  std::byte* data = (*arena)[0];
  std::fill(data, data + bytes, std::byte{1});
  return static_cast<double>(bytes) *
         best_rate(seconds, [&](int64_t rounds) { kernels.read(data, bytes, rounds); });
}

double write_rate(const ProbeKernels& kernels, int64_t bytes, double seconds) {
  bytes = round_up(bytes, 8 * kernels.vector_bytes);
  const auto arena = ArrayArena::make({&bytes, 1});
  if (!arena.ok()) return 0;
  std::byte* data = (*arena)[0];
  return static_cast<double>(bytes) *
         best_rate(seconds, [&](int64_t rounds) { kernels.write(data, bytes, rounds); });
}

int64_t beyond_caches(const Target& target) {
  return std::clamp<int64_t>(4 * std::max(target.l3_bytes, target.l2_bytes), int64_t{64} << 20,
                             int64_t{256} << 20);
}

// Microseconds that starting and joining a loop on all cores adds to the time of its iterations, of
// which each core has one. They take some time: a loop without work is over before others join it.
// A low quantile, since on a busy machine most launches find the other cores taken; 0 if all did.
double launch_us(const Target& target, double seconds) {
  constexpr int64_t kRounds = 16000;
  constexpr double kLeast = 0.1;
  auto pool = Pool::make(std::max(target.cores, 2));
  if (!pool.ok()) return 0;
  espalier_context context = pool->context();
  const auto work = [](void*, int64_t, int32_t) { run_cycles(kRounds); };
  const auto quick = [&](const auto& run) {
    std::vector<double> times;
    const double end = now_us() + seconds / 2 * 1e6;
    do {
      const double start = now_us();
      run();
      times.push_back(now_us() - start);
    } while (now_us() < end);
    const auto tenth = times.begin() + static_cast<ptrdiff_t>(times.size() / 10);
    std::nth_element(times.begin(), tenth, times.end());
    return *tenth;
  };
  const double alone = quick([&] { work(nullptr, 0, 0); });
  const double together =
      quick([&] { espalier_parallel_for(&context, 0, context.slots, 1, work, nullptr); });
  // Each core did its iteration after the other's: they were taken, and nothing was learnt.
  if (together > 1.9 * alone) return 0;
  return std::max(together - alone, kLeast);
}

// A figure that was measured, or the data sheet's where it makes no sense.
double sane(double measured, double otherwise) {
  return measured > 0 && std::isfinite(measured) ? measured : otherwise;
}

}  // namespace

DeviceModel probe_device(const Target& target, double seconds) {
  const ProbeKernels kernels = probe_kernels(target);
  const double part = seconds / 10;
  const DeviceModel sheet = data_sheet(target);
  DeviceModel model = sheet;
  model.cpu = host_cpu_fingerprint();
  model.probed = true;

  model.frequency_hz = sane(kCyclesPerRound * best_rate(part, run_cycles), sheet.frequency_hz);
  const double lanes = kernels.vector_bytes / 4.0;
  model.peak_flops =
      sane(best_rate(part, kernels.fma_throughput) * kernels.chains * lanes * 2, sheet.peak_flops);
  model.fma_ports = model.peak_flops / (2 * lanes * model.frequency_hz);
  model.fma_latency =
      sane(model.frequency_hz / best_rate(part, kernels.fma_latency), sheet.fma_latency);

  const int64_t in_l1 = target.l1_bytes / 2;
  const int64_t in_l2 = std::max(target.l2_bytes / 2, 2 * target.l1_bytes);
  const int64_t in_l3 = std::max(target.l3_bytes / 4, 2 * target.l2_bytes);
  model.l1_bandwidth = sane(read_rate(kernels, in_l1, part), sheet.l1_bandwidth);
  model.load_ports = model.l1_bandwidth / (kernels.vector_bytes * model.frequency_hz);
  model.store_ports =
      sane(write_rate(kernels, in_l1, part) / (kernels.vector_bytes * model.frequency_hz),
           sheet.store_ports);
  model.l2_bandwidth = sane(read_rate(kernels, in_l2, part), sheet.l2_bandwidth);
  model.dram_bandwidth =
      sane(read_rate(kernels, beyond_caches(target), part), sheet.dram_bandwidth);
  model.l3_bandwidth = target.l3_bytes > 0
                           ? sane(read_rate(kernels, in_l3, part), sheet.l3_bandwidth)
                           : model.dram_bandwidth;
  model.launch_us = sane(launch_us(target, part), sheet.launch_us);
  return model;
}

double probe_peak_gflops(const Target& target, double seconds) {
  const ProbeKernels kernels = probe_kernels(target);
  return best_rate(seconds, kernels.fma_throughput) * kernels.chains *
         (kernels.vector_bytes / 4.0) * 2e-9;
}

double probe_memory_gbps(const Target& target, double seconds) {
  return read_rate(probe_kernels(target), beyond_caches(target), seconds) * 1e-9;
}

}  // namespace espalier
