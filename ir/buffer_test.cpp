#include "espalier/ir/buffer.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(Buffer, IsDenseRowMajor) {
  Buffer b = make_buffer("B", DType::F16, {2, 3, 4}, BufferScope::Param);
  EXPECT_EQ(b->strides, (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(b->elements(), 24);
  EXPECT_EQ(b->bytes(), 48);
}

TEST(Buffer, RankZeroHoldsOneElement) {
  Buffer b = make_buffer("B", DType::F64, {}, BufferScope::Param);
  EXPECT_EQ(b->elements(), 1);
  EXPECT_EQ(b->bytes(), 8);
}

TEST(Buffer, ExtentZeroHoldsNothing) {
  EXPECT_EQ(make_buffer("B", DType::F32, {3, 0}, BufferScope::Param)->bytes(), 0);
}

TEST(Buffer, BytesSpanTheStrides) {
  BufferNode node;
  node.shape = {3, 4};
  node.strides = {-10, 2};
  EXPECT_EQ(node.bytes(), (20 + 6 + 1) * 4);
  node.strides = {0, 1};
  EXPECT_EQ(node.bytes(), 16);
}

TEST(Buffer, LoadTakesItsLanesFromTheIndices) {
  Buffer b = make_buffer("B", DType::I32, {8, 8}, BufferScope::Param);
  Var i("i");
  EXPECT_EQ(make_load(b, {i, i}).type(), Type(DType::I32));
  EXPECT_EQ(make_load(b, {i, make_ramp(i, 1, 4)}).type(), Type(DType::I32, 4));
}

TEST(Buffer, InnermostDimensionCanBeChosen) {
  const Buffer b = make_buffer("b", DType::F32, {2, 3, 4}, BufferScope::Stack);
  EXPECT_EQ(with_innermost(b, 0)->strides, (std::vector<int64_t>{1, 8, 2}));
  EXPECT_EQ(with_innermost(b, 1)->strides, (std::vector<int64_t>{12, 1, 3}));
  EXPECT_TRUE(with_innermost(b, 2)->strides == b->strides);
  EXPECT_EQ(with_innermost(b, 0)->elements(), 24);
}

}  // namespace
}  // namespace espalier
