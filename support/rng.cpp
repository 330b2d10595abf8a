#include "espalier/support/rng.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "espalier/support/check.h"
#include "espalier/support/hash.h"

namespace espalier {

Rng::Rng(uint64_t seed) : seed_(seed) {
  uint64_t counter = seed;
  for (uint64_t& word : state_) word = hash_mix(counter += 0x9e3779b97f4a7c15u);  // splitmix64
}

uint64_t Rng::next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Rng::below(uint64_t n) {
  ESP_CHECK(n > 0, "below(0): nothing to draw from");
  // Lemire's method: the high word of a product is uniform once the few low words that occur more
  // often are rejected.
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(next()) * n;
  if (static_cast<uint64_t>(product) < n) {
    const uint64_t threshold = -n % n;
    while (static_cast<uint64_t>(product) < threshold) product = static_cast<Wide>(next()) * n;
  }
  return static_cast<uint64_t>(product >> 64);
}

int64_t Rng::range(int64_t low, int64_t high) {
  ESP_CHECK(low <= high, "range(", low, ", ", high, ") is empty");
  const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  const uint64_t offset = width == 0 ? next() : below(width);  // 0: all 2^64 values
  return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
}

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

double Rng::normal() {
  // Box and Muller; 1 - u is in (0, 1], so that the logarithm is finite.
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

Rng Rng::fork(uint64_t stream) const { return Rng(hash_combine(hash_mix(seed_ + 1), stream)); }

}  // namespace espalier
