#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "espalier/support/result.h"

namespace espalier {

// Numbers as text, whatever the locale: the decimal separator is always a point.

/// The shortest text that reads back as the same number: "0.1", "1e-07", "inf", "-inf", "nan".
/// Integral values have no point ("3"), so a reader that must tell types apart writes its own
/// suffix.
std::string format_double(double value);
std::string format_float(float value);
/// Fixed notation with so many digits after the point, for tables that people read.
std::string format_fixed(double value, int digits);

/// The whole text as a number: optional sign, decimal digits with point and exponent, or inf or
/// nan. Errors quote the text; a magnitude beyond the type's range is OutOfRange.
Result<double> parse_double(std::string_view text);
Result<float> parse_float(std::string_view text);
/// The whole text as a decimal integer with optional sign; OutOfRange if it does not fit.
Result<int64_t> parse_int64(std::string_view text);
Result<uint64_t> parse_uint64(std::string_view text);

/// Exact results, or nothing where they overflow.
constexpr std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}
constexpr std::optional<int64_t> checked_sub(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) return std::nullopt;
  return difference;
}
constexpr std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// ceil(a / b) for a >= 0 and b > 0, without overflow.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }
/// Rounds a >= 0 up to a multiple of b > 0.
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

}  // namespace espalier
