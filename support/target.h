#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/support/result.h"

namespace espalier {

/// What code is generated and schedules are shaped for. Plain data; two targets that print the same
/// are the same.
struct Target {
  std::string arch = "x86_64";        // "x86_64" or "aarch64"
  std::string cpu;                    // as LLVM names it, for its scheduling model; "" is generic
  std::vector<std::string> features;  // LLVM feature names without sign, in a fixed order
  int vector_bits = 128;              // width of the vectors that code should use
  int vector_registers = 16;          // of that width
  int64_t l1_bytes = 32 << 10;        // data cache of one core
  int64_t l2_bytes = 512 << 10;       // of one core
  int64_t l3_bytes = 8 << 20;         // shared; 0: there is none
  int line_bytes = 64;
  int cores = 1;  // that a process may use

  bool has(std::string_view feature) const;

  /// Elements of this many bytes in one vector.
  int lanes(int element_bytes) const { return vector_bits / 8 / element_bytes; }

  /// The feature string for LLVM: "+f" for each feature and "-f" for each known one that is absent,
  /// since a CPU's name alone would switch on features that a hypervisor or the user has masked.
  std::string llvm_features() const;

  /// "x86_64-unknown-linux-gnu"
  std::string triple() const { return arch + "-unknown-linux-gnu"; }

  /// Whether code for this target can be executed on the other one: same architecture, no feature
  /// it lacks.
  bool runs_on(const Target& machine) const;

  friend bool operator==(const Target&, const Target&) = default;
};

/// One line that reads back the same:
/// x86_64 cpu=znver4 features=+avx2,+fma bits=512 regs=32 l1=32768 l2=1048576 l3=33554432 line=64
/// cores=2
std::string to_string(const Target& target);

/// Reads that form. What is left out is filled in from the features (an "x86_64 features=+avx2" has
/// bits=256 and regs=16). Two aliases may stand in place of the architecture, and be changed by
/// what follows ("avx2 cores=1"): "host" is host_target(), and "avx2" the host held to AVX2 even
/// where it has more.
Result<Target> parse_target(std::string_view text);

/// This machine, as far as this process may use it.
Target host_target();

/// The least set of features, with the CPU name, for a target's widest vectors held to 256 bits.
Target restrict_to_avx2(Target target);

/// Cores this process may use: its affinity mask, or its CPU quota rounded up if that is less. At
/// least 1.
int usable_cores();

/// What tells this machine's CPU from others, for records: brand, family, model and stepping.
std::string host_cpu_fingerprint();

}  // namespace espalier
