#include "espalier/support/number.h"

#include <bit>
#include <clocale>
#include <cmath>
#include <limits>

#include "espalier/support/hash.h"
#include "gtest/gtest.h"

namespace espalier {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(Number, PrintsShortest) {
  EXPECT_EQ(format_double(0.1), "0.1");
  EXPECT_EQ(format_double(3.0), "3");
  EXPECT_EQ(format_double(-0.0), "-0");
  EXPECT_EQ(format_float(0.1f), "0.1");
  EXPECT_EQ(format_double(static_cast<double>(0.1f)), "0.10000000149011612");
}

TEST(Number, PrintsNonFiniteValues) {
  EXPECT_EQ(format_double(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(format_float(-std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(format_double(-std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(Number, EveryDoubleRoundTrips) {
  for (uint64_t i = 0; i < 20000; ++i) {
    const double value = std::bit_cast<double>(hash_mix(i + 1));
    if (std::isnan(value)) continue;
    EXPECT_EQ(std::bit_cast<uint64_t>(parse_double(format_double(value)).value()),
              std::bit_cast<uint64_t>(value));
  }
}

TEST(Number, IgnoresTheLocale) {
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr) {
    GTEST_SKIP() << "that locale is not installed";
  }
  const std::string text = format_double(1.5);
  const double value = parse_double("1.5").value();
  std::setlocale(LC_NUMERIC, "C");
  EXPECT_EQ(text, "1.5");
  EXPECT_EQ(value, 1.5);
}

TEST(Number, ParsesSigns) {
  EXPECT_EQ(parse_double("+2.5").value(), 2.5);
  EXPECT_EQ(parse_int64("-12").value(), -12);
  EXPECT_FALSE(parse_int64("+-12").ok());
  EXPECT_FALSE(parse_uint64("-1").ok());
}

TEST(Number, ParsesTheEndsOfTheType) {
  EXPECT_EQ(parse_int64("9223372036854775807").value(), kMax);
  EXPECT_EQ(parse_int64("-9223372036854775808").value(), kMin);
}

TEST(Number, OverflowIsOutOfRange) {
  EXPECT_EQ(parse_int64("9223372036854775808").error().code, ErrorCode::OutOfRange);
  EXPECT_EQ(parse_double("1e999").error().code, ErrorCode::OutOfRange);
  EXPECT_EQ(parse_float("1e39").error().code, ErrorCode::OutOfRange);
}

TEST(Number, RejectsLeftovers) {
  for (const char* text : {"", " 1", "1 ", "1x", "0x10", "1.2.3", "--1", "+"}) {
    EXPECT_EQ(parse_int64(text).error().code, ErrorCode::Parse) << text;
  }
  EXPECT_EQ(parse_double("12,5").error().message, "expected a number, got '12,5'");
}

TEST(Number, FixedNotation) {
  EXPECT_EQ(format_fixed(1234.5678, 2), "1234.57");
  EXPECT_EQ(format_fixed(1e300, 0).size(), 301u);
}

TEST(Number, CheckedArithmeticDetectsOverflow) {
  EXPECT_EQ(checked_mul(kMax, 1), kMax);
  EXPECT_EQ(checked_mul(kMin, -1), std::nullopt);
  EXPECT_EQ(checked_mul(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(checked_add(kMax, 1), std::nullopt);
  EXPECT_EQ(checked_sub(kMin, 1), std::nullopt);
  EXPECT_EQ(checked_add(kMin, kMax), -1);
}

TEST(Number, CeilDivDoesNotOverflow) {
  EXPECT_EQ(ceil_div(7, 3), 3);
  EXPECT_EQ(ceil_div(kMax, 2), kMax / 2 + 1);
  EXPECT_EQ(round_up(17, 16), 32);
  EXPECT_EQ(round_up(0, 16), 0);
}

}  // namespace
}  // namespace espalier
