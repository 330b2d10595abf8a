#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace espalier {

/// Random numbers that are the same on every platform: xoshiro256** (Blackman and Vigna), seeded
/// through splitmix64. The standard library's distributions are not, so all draws are made here.
class Rng {
 public:
  explicit Rng(uint64_t seed = 0);

  uint64_t next();

  /// Uniform in [0, n), without bias; n > 0.
  uint64_t below(uint64_t n);
  /// Uniform in [low, high], both ends included; low <= high.
  int64_t range(int64_t low, int64_t high);
  /// Uniform in [0, 1), in steps of 2^-53.
  double uniform();
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// True with this probability.
  bool chance(double probability) { return uniform() < probability; }
  /// Standard normal. Its last bits may differ between C libraries, so use it for data and not for
  /// decisions.
  double normal();

  /// A uniformly random element; the container must not be empty.
  template <class Container>
  auto& pick(Container& items) {
    return items[below(items.size())];
  }
  template <class Container>
  void shuffle(Container& items) {
    for (size_t i = items.size(); i > 1; --i) {
      const size_t j = below(i);
      if (j != i - 1) std::swap(items[i - 1], items[j]);
    }
  }

  /// An independent generator that depends only on this one's seed and the stream's number, not on
  /// what has been drawn: give each candidate or thread its own stream, and the number of threads
  /// changes nothing.
  Rng fork(uint64_t stream) const;

  uint64_t seed() const { return seed_; }

 private:
  uint64_t seed_;
  std::array<uint64_t, 4> state_;
};

}  // namespace espalier
