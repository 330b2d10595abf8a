#include "espalier/support/hash.h"

namespace espalier {
namespace {

// Little-endian load of up to eight bytes, spelt out so that every byte order gives the same.
uint64_t load_little_endian(const unsigned char* bytes, size_t count) {
  uint64_t word = 0;
  for (size_t i = 0; i < count; ++i) word |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return word;
}

}  // namespace

uint64_t hash_bytes(const void* data, size_t length, uint64_t seed) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint64_t hash = hash_combine(seed, length);
  size_t at = 0;
  for (; at + 8 <= length; at += 8) hash = hash_combine(hash, load_little_endian(bytes + at, 8));
  if (at < length) hash = hash_combine(hash, load_little_endian(bytes + at, length - at));
  return hash;
}

std::string hash_to_hex(uint64_t hash) {
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; hash >>= 4) text[i] = "0123456789abcdef"[hash & 15];
  return text;
}

}  // namespace espalier
