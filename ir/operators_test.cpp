// The operators of ir/expr.h that users write.
#include <gtest/gtest.h>

#include "espalier/ir/tensor.h"

namespace espalier {
namespace {

TEST(Operators, ConstantsTakeTheOtherSidesType) {
  Var x("x", DType::F32), n("n", DType::U8);
  EXPECT_EQ((x * 2).type(), Type(DType::F32));
  EXPECT_EQ((0.5 * x).type(), Type(DType::F32));
  EXPECT_EQ((n + 255).type(), Type(DType::U8));
}

TEST(Operators, ConstantsThatDoNotFitAreRefused) {
  Var n("n", DType::U8), i("i");
  EXPECT_NE(poison_message(n + 256), nullptr);
  EXPECT_NE(poison_message(i + 0.5), nullptr);
  EXPECT_EQ(poison_message(i + 2.0), nullptr);
}

TEST(Operators, DifferentTypesAreRefusedWithBothNamed) {
  Var x("x", DType::F32), n("n", DType::I32);
  const Expr e = x + n;
  ASSERT_NE(poison_message(e), nullptr);
  EXPECT_EQ(*poison_message(e), "'+' of f32 and i32: cast one of them");
}

TEST(Operators, PoisonIsPassedOn) {
  Var x("x", DType::F32), n("n", DType::I32);
  const Expr bad = x + n;
  EXPECT_TRUE((bad * 2).same_as(bad));
  EXPECT_TRUE(exp(bad).same_as(bad));
  EXPECT_TRUE(select(x > 0, x, bad).same_as(bad));
}

TEST(Operators, AnEmptyOperandIsRefused) { EXPECT_NE(poison_message(Expr() + 1), nullptr); }

TEST(Operators, SlashTruncatesIntegersAndDividesFloats) {
  Var i("i"), x("x", DType::F32);
  EXPECT_EQ((i / 2).as<BinaryNode>()->op, BinaryOp::TruncDiv);
  EXPECT_EQ((x / 2).as<BinaryNode>()->op, BinaryOp::Div);
  EXPECT_EQ(floordiv(i, 2).as<BinaryNode>()->op, BinaryOp::FloorDiv);
}

// B11: a comparison used as a number is 0 or 1.
TEST(Operators, ConditionsCountAsNumbers) {
  Var a("a"), b("b"), x("x", DType::F32);
  const Expr both = (a < 3) + (b < 1);
  EXPECT_EQ(both.type(), kIndex);
  EXPECT_EQ(((a <= 4) + b).type(), kIndex);
  EXPECT_EQ((x * (a < 3)).type(), Type(DType::F32));
  EXPECT_TRUE(is_const((Expr(2) < 3) + (Expr(0) < 1), 2));
}

TEST(Operators, ZeroIsANumber) {
  Var i("i");
  EXPECT_EQ(to_string(i == 0), "i == 0");
  EXPECT_EQ(to_string(i != 0), "i != 0");
  EXPECT_EQ(to_string(0 == i + 1), "0 == i + 1");
}

TEST(Operators, LogicNeedsConditions) {
  Var i("i");
  EXPECT_NE(poison_message(i && (i < 3)), nullptr);
  EXPECT_NE(poison_message(logical_not(i)), nullptr);
  EXPECT_EQ(logical_not(i < 3).type(), kBool);
}

TEST(Operators, FunctionsOfIntegersAreRefused) {
  Var i("i");
  EXPECT_NE(poison_message(exp(i)), nullptr);
  EXPECT_NE(poison_message(sqrt(i)), nullptr);
  EXPECT_EQ(poison_message(abs(i)), nullptr);
}

TEST(Operators, ScalarsAreBroadcastBesideVectors) {
  const Expr r = make_ramp(Var("i"), 1, 8);
  EXPECT_EQ((r + 1).type(), Type(DType::I64, 8));
  EXPECT_EQ(select(r < 3, 1.0f, 0.0f).type(), Type(DType::F32, 8));
}

}  // namespace
}  // namespace espalier
