// The loops that the device probe times, one set a vector width.
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/support/target.h"

namespace espalier {

/// Loops over f32 vectors of one width. Each leaves its result where the compiler cannot see that
/// nobody needs it.
struct ProbeKernels {
  int vector_bytes = 16;
  /// Independent multiply-adds, enough chains to fill all ports: `chains` a round.
  void (*fma_throughput)(int64_t rounds) = nullptr;
  int chains = 0;
  /// Multiply-adds that wait for one another, one a round.
  void (*fma_latency)(int64_t rounds) = nullptr;
  /// Reads, or writes, a buffer of a multiple of 8 vectors, aligned to 64 bytes, again and again.
  void (*read)(const std::byte* data, int64_t bytes, int64_t rounds) = nullptr;
  void (*write)(std::byte* data, int64_t bytes, int64_t rounds) = nullptr;
};

/// The set for the widest vectors that the target has and this machine can run.
ProbeKernels probe_kernels(const Target& target);

/// A chain of integer operations that takes a known number of cycles a round, beside some vector
/// work, which lowers the clock on some machines.
void run_cycles(int64_t rounds);
inline constexpr double kCyclesPerRound = 24;

}  // namespace espalier
