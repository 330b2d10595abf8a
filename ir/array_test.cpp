#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "espalier/ir/evaluate.h"

namespace espalier {
namespace {

TEST(Array, StartsAtZeroAndAligned) {
  Array a(DType::F16, {3, 5});
  EXPECT_EQ(a.elements(), 15);
  EXPECT_EQ(a.bytes(), 30);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0u);
  for (int64_t i = 0; i < 15; ++i) EXPECT_EQ(a.get(i), 0);
}

TEST(Array, ConvertsOnAccess) {
  Array f(DType::BF16, {1});
  f.set(0, 1.0 + 0x1p-9);
  EXPECT_EQ(f.get(0), 1.0);
  Array i(DType::I8, {1});
  i.set_int(0, 130);
  EXPECT_EQ(i.get_int(0), -126);
  i.set(0, 300.0);
  EXPECT_EQ(i.get(0), 127);
}

TEST(Array, RankZeroHoldsOneElement) {
  Array a(DType::F64, {});
  a.set(0, 2.5);
  EXPECT_EQ(a.get(0), 2.5);
}

TEST(Array, EmptyHasNone) { EXPECT_EQ(Array(DType::F32, {3, 0}).elements(), 0); }

TEST(Array, HandlesShareMemory) {
  Array a(DType::I32, {2});
  Array b = a;
  b.set_int(1, 7);
  EXPECT_EQ(a.get_int(1), 7);
}

TEST(Array, TooLargeIsAnError) {
  Result<Array> a = Array::make(DType::F64, {INT64_MAX, 16});
  ASSERT_FALSE(a.ok());
  EXPECT_THAT(a.error().message, testing::HasSubstr("no memory"));
  EXPECT_FALSE(Array::make(DType::F64, {INT64_MAX / 8}).ok());
}

}  // namespace
}  // namespace espalier
