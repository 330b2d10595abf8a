#include "espalier/runtime/result_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace espalier {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Checks one float against one expectation.
bool accepts(double expected, double bound, double got, DType dtype = DType::F32) {
  Array array(dtype, {1});
  array.set(0, got);
  const ExpectedOutput output{"Y", dtype, {1}, &expected, &bound};
  const ArrayView view(array);
  return check_outputs({&output, 1}, {&view, 1}).ok;
}

TEST(ResultCheck, FloatsMayBeOffByTheirBound) {
  EXPECT_TRUE(accepts(1.0, 0.5, 1.5));
  EXPECT_FALSE(accepts(1.0, 0.5, 1.6));
  EXPECT_TRUE(accepts(1.0, 0, 1.0));
  EXPECT_FALSE(accepts(1.0, 0, 1.5));
}

TEST(ResultCheck, NanIsRightExactlyWhereItIsExpected) {
  EXPECT_TRUE(accepts(kNan, 1, kNan));
  EXPECT_FALSE(accepts(kNan, 1, 0));
  EXPECT_FALSE(accepts(0, 1, kNan));
}

TEST(ResultCheck, InfinitiesMatchBySign) {
  EXPECT_TRUE(accepts(kInf, 0, kInf));
  EXPECT_FALSE(accepts(kInf, 0, -kInf));
  EXPECT_FALSE(accepts(kInf, 1, 5));
  EXPECT_FALSE(accepts(5, 1, kInf));
}

TEST(ResultCheck, OverflowIsRightWhereTheBoundReachesPastTheType) {
  EXPECT_TRUE(accepts(65500, 100, kInf, DType::F16));
  EXPECT_FALSE(accepts(65000, 100, kInf, DType::F16));
  EXPECT_FALSE(accepts(65500, 100, -kInf, DType::F16));
  EXPECT_TRUE(accepts(1e39, 1, kInf));
}

TEST(ResultCheck, AnUnboundedElementMayBeAnything) {
  EXPECT_TRUE(accepts(1, kInf, kNan));
  EXPECT_TRUE(accepts(kNan, kInf, 1));
}

TEST(ResultCheck, ABoundThatIsNanAcceptsOnlyTheSame) {
  EXPECT_FALSE(accepts(1, kNan, 2));
  EXPECT_TRUE(accepts(kNan, kNan, kNan));
}

TEST(ResultCheck, IntegersMustBeEqual) {
  Array right(DType::I32, {3}), wrong(DType::I32, {3});
  wrong.set_int(1, 1);
  const std::vector<double> bound = {0, 0, 0};
  const ExpectedOutput output{"Y", DType::I32, {3}, right.data(), bound.data()};
  const ArrayView same(right), other(wrong);
  EXPECT_TRUE(check_outputs({&output, 1}, {&same, 1}).ok);
  const CheckResult result = check_outputs({&output, 1}, {&other, 1});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.message, "element [1] of output 'Y' is 1 where 0 is expected");
}

TEST(ResultCheck, IntegersMadeFromFloatsHaveABound) {
  const Array right(DType::I32, {1});
  Array got(DType::I32, {1});
  const double bound = 1;
  const ExpectedOutput output{"Y", DType::I32, {1}, right.data(), &bound};
  const ArrayView view(got);
  got.set_int(0, -1);
  EXPECT_TRUE(check_outputs({&output, 1}, {&view, 1}).ok);
  got.set_int(0, 2);
  EXPECT_FALSE(check_outputs({&output, 1}, {&view, 1}).ok);
}

TEST(ResultCheck, NamesTheWorstElementInRelationToItsBound) {
  const std::vector<double> value = {0, 0, 0, 0}, bound = {1, 0.001, 1, 1};
  Array array(DType::F64, {2, 2});
  array.set(1, 0.01);  // ten bounds off
  array.set(2, 5);     // five
  const ExpectedOutput output{"Y", DType::F64, {2, 2}, value.data(), bound.data()};
  const ArrayView view(array);
  const CheckResult result = check_outputs({&output, 1}, {&view, 1});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.index, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(result.max_error, 5);
  EXPECT_EQ(result.got, 0.01);
  EXPECT_THAT(result.message, HasSubstr("2 of 4 elements are wrong"));
}

TEST(ResultCheck, LargestErrorIsOverAllOutputs) {
  const std::vector<double> value = {0}, bound = {10};
  Array a(DType::F32, {1}), b(DType::F32, {1});
  a.set(0, 2);
  b.set(0, 3);
  const ExpectedOutput one{"A", DType::F32, {1}, value.data(), bound.data()};
  const std::vector<ExpectedOutput> expected = {one, one};
  const std::vector<ArrayView> views = {a, b};
  const CheckResult result = check_outputs(expected, views);
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.max_error, 3);
}

}  // namespace
}  // namespace espalier
