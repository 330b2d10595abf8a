#include "espalier/support/result.h"

#include <memory>

#include "gtest/gtest.h"

namespace espalier {
namespace {

Result<int> half_of(int n) {
  if (n % 2 != 0) return make_error(ErrorCode::InvalidArgument, "expected an even number, got ", n);
  return n / 2;
}

Result<int> quarter_of(int n) {
  ESP_TRY(int half, half_of(n));
  ESP_TRY(half, half_of(half));
  return half;
}

Result<void> check_even(int n) {
  ESP_TRY_VOID(half_of(n));
  return {};
}

TEST(Result, HoldsValue) {
  Result<int> result = half_of(8);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result, 4);
}

TEST(Result, HoldsError) {
  Result<int> result = half_of(7);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), (Error{ErrorCode::InvalidArgument, "expected an even number, got 7"}));
}

TEST(Result, TryTakesValues) { EXPECT_EQ(quarter_of(12).value(), 3); }

TEST(Result, TryReturnsTheFirstError) {
  EXPECT_EQ(quarter_of(6).error().message, "expected an even number, got 3");
}

TEST(Result, TryVoidReturnsTheError) {
  EXPECT_TRUE(check_even(2).ok());
  EXPECT_EQ(check_even(3).error().code, ErrorCode::InvalidArgument);
}

TEST(Result, CarriesMoveOnlyValues) {
  auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(5); };
  std::unique_ptr<int> owned = make().value();
  EXPECT_EQ(*owned, 5);
}

TEST(Result, ConvertsValuesOnReturn) {
  auto make = []() -> Result<std::string> { return "text"; };
  EXPECT_EQ(make()->size(), 4u);
}

TEST(Result, ValueOrGivesTheAlternative) {
  EXPECT_EQ(half_of(3).value_or(-1), -1);
  EXPECT_EQ(half_of(4).value_or(-1), 2);
}

TEST(Result, NotesFollowTheMessage) {
  Error error = with_note(make_error(ErrorCode::Io, "no space"), "while writing ", "log");
  EXPECT_EQ(to_string(error), "no space\n  note: while writing log");
}

TEST(ResultDeathTest, ValueOfAFailedResultPrintsTheError) {
  EXPECT_DEATH((void)half_of(7).value(), "expected an even number, got 7");
  EXPECT_DEATH(check_even(7).value(), "expected an even number, got 7");
}

TEST(ResultDeathTest, ErrorOfAGoodResultIsACheck) {
  EXPECT_DEATH((void)half_of(8).error(), "holds a value");
}

}  // namespace
}  // namespace espalier
