#pragma once

#include <cstdint>

namespace espalier {

// The 16-bit floating-point formats as bits. Every conversion to 16 bits rounds once, to nearest
// with ties to even, keeps subnormals and the sign of zero, overflows to infinity, and turns a NaN
// into a quiet NaN with its top payload bits. Conversions from 16 bits are exact, except that NaNs
// become quiet.

/// IEEE binary16.
uint16_t f16_from_float(float value);
/// Rounds from double directly: by way of float it would round twice and sometimes land one step
/// off.
uint16_t f16_from_double(double value);
float f16_to_float(uint16_t bits);

/// bfloat16: the upper half of a float.
uint16_t bf16_from_float(float value);
uint16_t bf16_from_double(double value);
float bf16_to_float(uint16_t bits);

}  // namespace espalier
