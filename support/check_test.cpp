#include "espalier/support/check.h"

#include <cstdlib>

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

TEST(Check, SettingNullRestoresTheDefaultHook) {
  CheckHook original = set_check_hook(nullptr);
  EXPECT_EQ(set_check_hook(nullptr), original);
}

}  // namespace
}  // namespace espalier
