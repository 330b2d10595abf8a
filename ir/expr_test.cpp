#include "espalier/ir/expr.h"

#include <gtest/gtest.h>

#include <limits>

#include "espalier/ir/buffer.h"

namespace espalier {
namespace {

using enum BinaryOp;

TEST(Expr, EmptyIsFalse) {
  Expr none, one = 1;
  EXPECT_FALSE(none);
  EXPECT_TRUE(one);
}

TEST(Expr, ConstantsWrapIntoTheirType) {
  EXPECT_EQ(make_int(DType::I8, 300).as<ConstNode>()->i, 44);
  EXPECT_EQ(make_int(DType::U32, -1).as<ConstNode>()->i, 4294967295);
  EXPECT_EQ(make_float(DType::F16, 1e9).as<ConstNode>()->f,
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(make_float(DType::F32, 0.1).as<ConstNode>()->f, static_cast<double>(0.1f));
}

TEST(Expr, MakersFoldConstants) {
  EXPECT_TRUE(is_const(make_binary(FloorDiv, make_index(-21), make_index(5)), -5));
  EXPECT_TRUE(is_const(make_binary(Lt, Expr(1.0f), Expr(2.0f)), 1));
  EXPECT_EQ(make_fma(Expr(2.0f), Expr(3.0f), Expr(1.0f)).as<ConstNode>()->f, 7);
  EXPECT_TRUE(is_const(make_cast(DType::I8, Expr(300.0f)), 127));
}

TEST(Expr, VectorConstantsFoldUnderBroadcast) {
  const Expr v =
      make_binary(Add, make_int(Type(DType::I64, 4), 2), make_int(Type(DType::I64, 4), 3));
  EXPECT_TRUE(is_const(v, 5));
  EXPECT_EQ(v.type(), Type(DType::I64, 4));
}

TEST(Expr, ComparisonsAreBoolWithTheOperandsLanes) {
  const Expr r = make_ramp(Var("i"), 1, 8);
  EXPECT_EQ(make_binary(Lt, r, make_int(Type(DType::I64, 8), 5)).type(), Type(DType::Bool, 8));
}

TEST(Expr, EqualityIsStructural) {
  Var i("i"), j("j"), other("i");
  EXPECT_TRUE(equal(i * 2 + j, i * 2 + j));
  EXPECT_FALSE(equal(i * 2 + j, i * 3 + j));
  EXPECT_FALSE(equal(i + 1, other + 1));
  EXPECT_FALSE(equal(make_int(DType::I32, 1), make_int(DType::I64, 1)));
  EXPECT_FALSE(equal(Expr(0.0f), Expr(-0.0f)));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(equal(Expr(nan), Expr(-nan)));
}

TEST(Expr, HashIsStructural) {
  Var i("i"), j("j");
  EXPECT_EQ((i * 2 + j)->hash, (i * 2 + j)->hash);
  EXPECT_NE((i + j)->hash, (j + i)->hash);
  EXPECT_NE((i + j)->hash, (i - j)->hash);
}

TEST(Expr, LoadsOfDifferentBuffersDiffer) {
  Buffer a = make_buffer("A", DType::F32, {4}, BufferScope::Param);
  Buffer b = make_buffer("A", DType::F32, {4}, BufferScope::Param);
  Var i("i");
  EXPECT_TRUE(equal(make_load(a, {i}), make_load(a, {i})));
  EXPECT_FALSE(equal(make_load(a, {i}), make_load(b, {i})));
  EXPECT_FALSE(equal(make_load(a, {i}), make_flat_load(a, i)));
}

TEST(Expr, RampAndBroadcastOfOneLaneAreScalars) {
  Var i("i");
  EXPECT_TRUE(make_ramp(i, 3, 1).same_as(i));
  EXPECT_TRUE(make_broadcast(i, 1).same_as(i));
}

TEST(Expr, SelectByAConstantIsItsSide) {
  Var i("i"), j("j");
  EXPECT_TRUE(make_select(make_bool(true), i, j).same_as(i));
  EXPECT_TRUE(make_select(make_bool(false), i, j).same_as(j));
}

TEST(ExprDeathTest, MakersCheckTypes) {
  Var i("i"), f("f", DType::F32);
  EXPECT_DEATH(make_binary(Add, i, f), "add of i64 and f32");
  EXPECT_DEATH(make_binary(FloorDiv, f, f), "floordiv of f32");
}

}  // namespace
}  // namespace espalier
