#include "espalier/support/number.h"

#include <charconv>
#include <cmath>
#include <system_error>

namespace espalier {
namespace {

template <class Float>
std::string format_shortest(Float value) {
  if (std::isnan(value)) return "nan";  // to_chars would tell negative NaNs apart
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  ESP_CHECK(error == std::errc{});
  return std::string(buffer, end);
}

// from_chars takes no leading plus.
std::string_view without_plus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

template <class Number>
Result<Number> parse_whole(std::string_view text, const char* kind) {
  const std::string_view digits = without_plus(text);
  Number value{};
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range && end == digits.data() + digits.size()) {
    return make_error(ErrorCode::OutOfRange, "'", text, "' does not fit ", kind);
  }
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    return make_error(ErrorCode::Parse, "expected ", kind, ", got '", text, "'");
  }
  return value;
}

}  // namespace

std::string format_double(double value) { return format_shortest(value); }
std::string format_float(float value) { return format_shortest(value); }

std::string format_fixed(double value, int digits) {
  if (!std::isfinite(value)) return format_double(value);
  char buffer[400];  // 309 digits before the point at most
  auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, digits);
  ESP_CHECK(error == std::errc{}, "format_fixed with ", digits, " digits");
  return std::string(buffer, end);
}

Result<double> parse_double(std::string_view text) { return parse_whole<double>(text, "a number"); }
Result<float> parse_float(std::string_view text) {
  return parse_whole<float>(text, "a single-precision number");
}
Result<int64_t> parse_int64(std::string_view text) {
  return parse_whole<int64_t>(text, "a 64-bit integer");
}
Result<uint64_t> parse_uint64(std::string_view text) {
  return parse_whole<uint64_t>(text, "an unsigned 64-bit integer");
}

}  // namespace espalier
