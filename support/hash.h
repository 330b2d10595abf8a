#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace espalier {

// Deterministic 64-bit hashes: the same on every platform, run and version, since records store
// them. Never std::hash, which promises none of this.

/// A bijection of the 64-bit integers with full avalanche (the finaliser of splitmix64).
constexpr uint64_t hash_mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Folds a value into a running hash; order matters.
constexpr uint64_t hash_combine(uint64_t seed, uint64_t value) {
  return hash_mix(seed * 0x9e3779b97f4a7c15u + hash_mix(value + 0x9e3779b97f4a7c15u));
}

/// Hash of a byte sequence, whatever its alignment and the machine's byte order.
uint64_t hash_bytes(const void* data, size_t length, uint64_t seed = 0);

inline uint64_t hash_string(std::string_view text, uint64_t seed = 0) {
  return hash_bytes(text.data(), text.size(), seed);
}

/// Hash of a double's bits: -0 differs from 0, and NaNs differ by payload.
constexpr uint64_t hash_double(double value, uint64_t seed = 0) {
  return hash_combine(seed, std::bit_cast<uint64_t>(value));
}

/// 16 lower-case hexadecimal digits.
std::string hash_to_hex(uint64_t hash);

}  // namespace espalier
