#include "espalier/support/check.h"

#include <cstdio>
#include <cstdlib>
#include <locale>

#include "gtest/gtest.h"

namespace espalier {
namespace {

TEST(Check, PassesQuietly) { ESP_CHECK(1 + 1 == 2, "arithmetic"); }

TEST(Check, DoesNotEvaluateValuesWhenItHolds) {
  int evaluated = 0;
  ESP_CHECK(evaluated == 0, ++evaluated);
  EXPECT_EQ(evaluated, 0);
}

TEST(CheckDeathTest, AbortsWithConditionAndStreamedValues) {
  int extent = 7;
  EXPECT_DEATH(ESP_CHECK(extent < 0, "extent ", extent, " of axis ", 'i'),
               "check_test.cpp:.*internal check failed: extent < 0: extent 7 of axis i");
}

TEST(CheckDeathTest, UnreachableAborts) {
  EXPECT_DEATH(ESP_UNREACHABLE("kind ", 9), "internal check failed: unreachable: kind 9");
}

TEST(CheckDeathTest, HookRunsBeforeTheAbort) {
  EXPECT_EXIT(
      {
        set_check_hook([](const CheckFailure& failure) {
          std::fprintf(stderr, "hook saw %s", failure.condition);
          std::_Exit(3);
        });
        ESP_CHECK(false);
      },
      testing::ExitedWithCode(3), "hook saw false");
}

struct GroupedDigits : std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Check, MessagesIgnoreTheGlobalLocale) {
  const std::locale before = std::locale::global(std::locale(std::locale(), new GroupedDigits));
  const std::string text = detail::concat(1234567, ' ', 1.5);
  std::locale::global(before);
  EXPECT_EQ(text, "1234567 1.5");
}

TEST(Check, SettingNullRestoresTheDefaultHook) {
  CheckHook original = set_check_hook(nullptr);
  EXPECT_EQ(set_check_hook(nullptr), original);
}

}  // namespace
}  // namespace espalier
