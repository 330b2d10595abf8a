#include "espalier/support/half.h"

#include <bit>

namespace espalier {
namespace {

// Narrows IEEE double bits to a format with 1 sign bit, `exponent_bits` and `mantissa_bits` (16 in
// all). Working from double serves both sources: every float is a double exactly.
template <int exponent_bits, int mantissa_bits>
uint16_t narrow(double value) {
  constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  constexpr int kMinExponent = 1 - kBias;  // of normal numbers
  constexpr uint16_t kInfinity = ((1 << exponent_bits) - 1) << mantissa_bits;

  const auto bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 63 << 15);
  const int biased = static_cast<int>(bits >> 52 & 0x7ff);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (biased == 0x7ff) {
    if (fraction == 0) return sign | kInfinity;
    const auto payload = static_cast<uint16_t>(fraction >> (52 - mantissa_bits));
    return static_cast<uint16_t>(sign | kInfinity | 1 << (mantissa_bits - 1) | payload);
  }
  if (biased == 0) return sign;  // a subnormal double is far below half of the least 16-bit number

  const int exponent = biased - 1023;
  if (exponent > kBias) return sign | kInfinity;
  // The 53-bit significand loses `shift` bits; more of them below the normal range.
  int shift = 52 - mantissa_bits;
  if (exponent < kMinExponent) shift += kMinExponent - exponent;
  if (shift > 53) return sign;  // below half of the least subnormal
  const uint64_t significand = fraction | uint64_t{1} << 52;
  uint64_t kept = significand >> shift;
  const uint64_t lost = significand & ((uint64_t{1} << shift) - 1);
  const uint64_t half = uint64_t{1} << (shift - 1);
  if (lost > half || (lost == half && (kept & 1) != 0)) ++kept;
  // The implicit bit of a normal number adds one to the exponent field, so that field starts one
  // lower; a carry out of rounding moves into the exponent (and on to infinity) by the same
  // addition.
  const int field = exponent < kMinExponent ? 0 : exponent + kBias - 1;
  return static_cast<uint16_t>(sign | ((static_cast<uint64_t>(field) << mantissa_bits) + kept));
}

}  // namespace

uint16_t f16_from_double(double value) { return narrow<5, 10>(value); }
uint16_t bf16_from_double(double value) { return narrow<8, 7>(value); }

// A signalling NaN would raise a flag when widened; nothing here reads flags, and the payload
// survives.
uint16_t f16_from_float(float value) { return narrow<5, 10>(value); }
uint16_t bf16_from_float(float value) { return narrow<8, 7>(value); }

float f16_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 31;
  const uint32_t fraction = bits & 0x3ff;
  if (exponent == 31) {
    const uint32_t quiet = fraction != 0 ? 0x400000 : 0;
    return std::bit_cast<float>(sign | 0x7f800000 | quiet | fraction << 13);
  }
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

float bf16_to_float(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  if ((wide & 0x7f800000) == 0x7f800000 && (wide & 0x7fffff) != 0) wide |= 0x400000;
  return std::bit_cast<float>(wide);
}

}  // namespace espalier
