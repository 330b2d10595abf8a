#include "espalier/support/number.h"

#include <bit>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

// A locale with a decimal comma, made for the test: which locales a machine has is up to its owner.
class CommaLocale {
 public:
  CommaLocale() {
    std::string pattern = testing::TempDir() + "espalier-locale-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) return;
    folder_ = pattern;
    std::ofstream(folder_ + "/source") << "LC_NUMERIC\n"
                                          "decimal_point \",\"\n"
                                          "thousands_sep \".\"\n"
                                          "grouping 3\n"
                                          "END LC_NUMERIC\n";
    // The package with the usual character maps may be missing too; these three are enough.
    std::ofstream(folder_ + "/charmap") << "<code_set_name> ANSI_X3.4-1968\n"
                                           "<mb_cur_max> 1\n"
                                           "CHARMAP\n"
                                           "<U0000> /x00\n"
                                           "<U002C> /x2c\n"
                                           "<U002E> /x2e\n"
                                           "END CHARMAP\n";
    // Complains about the categories that are left out, and with -c goes on.
    const std::string command =
        "cd " + folder_ + " && localedef -c -f ./charmap -i ./source ./comma > said 2>&1";
    static_cast<void>(std::system(command.c_str()));
    setenv("LOCPATH", folder_.c_str(), 1);
    is_set_ = std::setlocale(LC_NUMERIC, "comma") != nullptr;
  }
  ~CommaLocale() {
    std::setlocale(LC_NUMERIC, "C");
    unsetenv("LOCPATH");
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  bool is_set() const { return is_set_; }

 private:
  std::string folder_;
  bool is_set_ = false;
};

TEST(Number, IgnoresTheLocale) {
  const CommaLocale locale;
#if defined(__GLIBC__)
  ASSERT_TRUE(locale.is_set()) << "localedef made no locale";
  ASSERT_STREQ(std::localeconv()->decimal_point, ",");
#else
  if (!locale.is_set()) GTEST_SKIP() << "the C library makes no locales";
#endif
  EXPECT_EQ(format_double(1.5), "1.5");
  EXPECT_EQ(format_fixed(1234.5, 1), "1234.5");
  EXPECT_EQ(parse_double("1.5").value(), 1.5);
  EXPECT_FALSE(parse_double("1,5").ok());
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
