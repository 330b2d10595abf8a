#include "espalier/ir/simplify.h"

#include <gtest/gtest.h>

#include "espalier/ir/tensor.h"

namespace espalier {
namespace {

struct Simplify : testing::Test {
  Var i{"i"}, j{"j"}, k{"k"}, x{"x"}, y{"y"};
  Bounds b;
  Simplify() {
    b.set(i, {0, 31});
    b.set(j, {0, 15});
    b.set(k, {-8, 7});
    b.set(x, {0, 1000000});
    b.set(y, {0, 1000000});
  }
  std::string text(const Expr& e) const { return to_string(simplify(e, b)); }
};

TEST_F(Simplify, SumsAreCollected) {
  EXPECT_EQ(text(i + 3 + i * 2 - 5), "i * 3 - 2");
  EXPECT_EQ(text((i + j) * 4 - j * 4), "i * 4");
  EXPECT_EQ(text(i - i), "0");
  EXPECT_EQ(text(-(i - j)), "j - i");
  EXPECT_EQ(text(5 - i), "5 - i");
  EXPECT_EQ(text(-i), "i * -1");
  EXPECT_EQ(text(x * y - y * 3 - x * y), "y * -3");
}

TEST_F(Simplify, SumsCancelWhateverWraps) {
  Var n("n", DType::I8);  // of any value
  EXPECT_EQ(text(n + 100 - n), "100i8");
  EXPECT_EQ(text(n * 16 * 16), "0i8");
  Var u("u", DType::U32);
  EXPECT_EQ(text(u - 2 - u), "4294967294u32");
}

TEST_F(Simplify, DivisionSplitsMultiplesOff) {
  EXPECT_EQ(text(floordiv(i * 16 + j, 16)), "i");
  EXPECT_EQ(text(floormod(i * 16 + j, 16)), "j");
  EXPECT_EQ(text(floordiv(i * 32 + j + 35, 16)), "i * 2 + floordiv(j + 3, 16) + 2");
  EXPECT_EQ(text(floormod(i * 32 + j + 35, 16)), "floormod(j + 3, 16)");
  EXPECT_EQ(text(floordiv(x * 20 + i, 16)), "x + floordiv(x * 4 + i, 16)");
  EXPECT_EQ(text(floordiv(k, 8)), "floordiv(k, 8)");
  EXPECT_EQ(text(floordiv(k, 8) - floordiv(k - 8, 8)), "1");
}

TEST_F(Simplify, DivisionDropsWhatCannotCarry) {
  EXPECT_EQ(text(floordiv(x * 16 + j, 64)), "floordiv(x, 4)");
  EXPECT_EQ(text(floormod(x * 16 + j, 64)), "floormod(x, 4) * 16 + j");
  EXPECT_EQ(text(floordiv(x * 64 + (i - 16) * 2 + 1, 64)), "x + floordiv(i + 16, 32) - 1");
  EXPECT_EQ(text(floordiv(x * 4 + 3, 8)), "floordiv(x, 2)");
  EXPECT_EQ(text(floormod(x * 4 + 3, 8)), "floormod(x, 2) * 4 + 3");
}

TEST_F(Simplify, NestedDivisionsJoin) {
  EXPECT_EQ(text(floordiv(floordiv(x, 3), 5)), "floordiv(x, 15)");
  EXPECT_EQ(text(floormod(floormod(x, 15), 5)), "floormod(x, 5)");
}

TEST_F(Simplify, QuotientAndRemainderMakeTheWhole) {
  EXPECT_EQ(text(floordiv(x, 7) * 7 + floormod(x, 7)), "x");
  EXPECT_EQ(text(floordiv(x + i, 7) * 14 + floormod(x + i, 7) * 2), "x * 2 + i * 2");
  EXPECT_EQ(text(floordiv(x, 12) * 12 + floormod(floordiv(x, 4), 3) * 4 + floormod(x, 4)), "x");
  Expr inner = floormod(x, 12);
  EXPECT_EQ(text(floordiv(inner, 4) * 4 + floormod(inner, 4)), "floormod(x, 12)");
}

TEST_F(Simplify, TheWholeWithoutItsMultipleIsTheRemainder) {
  EXPECT_EQ(text(x - floordiv(x, 4) * 4), "floormod(x, 4)");
  EXPECT_EQ(text(x * 16 + j + i - floordiv(x * 16 + j, 64) * 64), "floormod(x, 4) * 16 + j + i");
  EXPECT_EQ(text(floordiv(x + y + 1, 7) * 7 - x - y), "1 - floormod(x + y + 1, 7)");
}

// The fused axes of a convolution, split by tiles that divide the width.
TEST_F(Simplify, FusedAndSplitAxes) {
  const Expr f = x * 16 + j;
  EXPECT_EQ(text(floordiv(f, 64) * 64 + floormod(f, 64)), "x * 16 + j");
  EXPECT_EQ(text(floordiv(floordiv(f, 16), 4)), "floordiv(x, 4)");
}

TEST_F(Simplify, NothingIsDividedThatMayWrap) {
  Var n("n");  // of any value: n * 4 may wrap
  EXPECT_EQ(text(floordiv(n * 4, 4)), "floordiv(n * 4, 4)");
  EXPECT_EQ(text(floormod(n + 1, 2)), "floormod(n + 1, 2)");
  Var m("m", DType::U8);
  EXPECT_EQ(text(floordiv(m + 200, 2)), "floordiv(m - 56u8, 2u8)");
}

TEST_F(Simplify, FloorAndTruncationAreNotSwapped) {
  EXPECT_EQ(text(k / 2), "truncdiv(k, 2)");
  EXPECT_EQ(text(k % 2), "truncmod(k, 2)");
  EXPECT_EQ(text(i / 2), "floordiv(i, 2)");  // no sign, no difference
  EXPECT_EQ(text((k * 2) / 2), "truncdiv(k * 2, 2)");
}

// A6: (241 + 48x) / 16 by truncation must not become 15 + 3x.
TEST_F(Simplify, TruncationOfASumIsKept) {
  EXPECT_EQ(text((k * 48 + 241) / 16), "truncdiv(k * 48 + 241, 16)");
  EXPECT_EQ(text(floordiv(k * 48 + 241, 16)), "k * 3 + 15");
}

TEST_F(Simplify, DivisionByZeroAndOne) {
  EXPECT_EQ(text(floordiv(i, 0)), "0");
  EXPECT_EQ(text(floormod(i, 0)), "0");
  EXPECT_EQ(text(i / 1), "i");
  EXPECT_EQ(text(floordiv(k, -1)), "k * -1");
}

TEST_F(Simplify, ComparisonsAreDecidedByRanges) {
  EXPECT_EQ(text(i * 16 + j < 512), "true");
  EXPECT_EQ(text(i * 16 + j >= 512), "false");
  EXPECT_EQ(text(i + 1 <= i), "false");
  EXPECT_EQ(text(i + j < i + 16), "true");
  EXPECT_EQ(text(i * 2 == j * 2 + 1), "false");
}

TEST_F(Simplify, ComparisonsHaveOneForm) {
  EXPECT_EQ(text(x * 16 < 500), "x < 32");
  EXPECT_EQ(text(i * 16 < 300), "i < 19");
  EXPECT_EQ(text(i * 16 + j < 256), "i < 16");
  EXPECT_EQ(text(i * 16 + j < 250), "i * 16 + j < 250");
  EXPECT_EQ(text(250 > i * 16 + j), "i * 16 + j < 250");
  EXPECT_EQ(text(i - 1 >= 0), "i >= 1");
  EXPECT_EQ(text(i > 3), "i >= 4");
  EXPECT_EQ(text(logical_not(i < 4)), "i >= 4");
  EXPECT_EQ(text(i - j > 0), "j < i");
  EXPECT_EQ(text(j + 1 > i), "i <= j");
  EXPECT_EQ(text(i * 2 == j * 2 + 4), "i == j + 2");
}

TEST_F(Simplify, MinAndMaxByRangeOrDifference) {
  EXPECT_EQ(text(min(i, 31)), "i");
  EXPECT_EQ(text(max(i, -1)), "i");
  EXPECT_EQ(text(min(x + 3, x + 5)), "x + 3");
  EXPECT_EQ(text(max(x + i, x)), "x + i");
  EXPECT_EQ(text(min(min(x, 40), 30)), "min(x, 30)");
  EXPECT_EQ(text(min(x, min(x, y))), "min(x, y)");
  EXPECT_EQ(text(min(5, x)), "min(x, 5)");
}

TEST_F(Simplify, Logic) {
  const Expr c = x < 5, d = y < 5;
  EXPECT_EQ(text(c && c), "x < 5");
  EXPECT_EQ(text(c && (x < 7)), "x < 5");
  EXPECT_EQ(text((x < 7) && c), "x < 5");
  EXPECT_EQ(text(c || (x < 7)), "x < 7");
  EXPECT_EQ(text(c && (x >= 5)), "false");
  EXPECT_EQ(text(c || logical_not(c)), "true");
  EXPECT_EQ(text(c && (d && (i < 40))), "x < 5 && y < 5");
}

TEST_F(Simplify, SelectsKnowTheirCondition) {
  EXPECT_EQ(text(select(i < 32, x, y)), "x");
  EXPECT_EQ(text(select(x < y, i, i)), "i");
  EXPECT_EQ(text(select(x < 5, min(x, 9), 0)), "select(x < 5, x, 0)");
  EXPECT_EQ(text(select(x < 5, 1, select(x < 4, 2, 3))), "select(x < 5, 1, 3)");
  EXPECT_EQ(text(select(x < y, make_bool(false), make_bool(true))), "y <= x");
}

TEST_F(Simplify, ReadsKeepTheConditionThatGuardsThem) {
  Buffer a = make_buffer("A", DType::I64, {5}, BufferScope::Param);
  const Expr guarded = select(x < 5, make_load(a, {x}), 0) < 3;
  EXPECT_EQ(text(x < 5 && guarded), "x < 5 && select(x < 5, A[x], 0) < 3");
}

// Code generation computes both sides of a Select, once reads are safe by themselves.
TEST_F(Simplify, ReadsInASelectStaySafeByThemselves) {
  Buffer a = make_buffer("A", DType::I64, {5}, BufferScope::Param);
  EXPECT_EQ(text(select(x < 5, make_load(a, {min(x, 4)}), 0)), "select(x < 5, A[min(x, 4)], 0)");
  EXPECT_EQ(text(select(x < 5, make_load(a, {x}, x < 5), 0)), "select(x < 5, A[x if x < 5], 0)");
  EXPECT_EQ(text(select(x < 5, select(x < 5, make_load(a, {x}), 1), 0)), "select(x < 5, A[x], 0)");
}

TEST_F(Simplify, CastsThatKeepTheNumberGo) {
  const Expr narrow = make_cast(DType::I32, i);
  EXPECT_EQ(text(make_cast(DType::I64, narrow)), "i");
  Var n("n");
  EXPECT_EQ(text(make_cast(DType::I64, make_cast(DType::I32, n))), "i64(i32(n))");
  EXPECT_EQ(text(make_cast(DType::I8, make_cast(DType::I32, n))), "i8(n)");
}

// B11: conditions as numbers.
TEST_F(Simplify, ConditionsAsNumbersHaveRanges) {
  EXPECT_EQ(text((i < 3) + (j < 1) <= 2), "true");
  EXPECT_EQ(text((i < 40) + (j < 1)), "i64(j < 1) + 1");
}

TEST_F(Simplify, FloatsAreLeftAlone) {
  Var f("f", DType::F32);
  const Expr e = f * 1.0f + 0.0f - f;
  EXPECT_TRUE(simplify(e, b).same_as(e));
  EXPECT_EQ(text(logical_not(f < 1.0f)), "!(f < 1.0f32)");
  EXPECT_EQ(text(f * (make_float(DType::F32, 2) + 1.0f)), "f * 3.0f32");
}

TEST_F(Simplify, ReductionsKnowTheirAxesAndTerms) {
  Tensor t = placeholder("T", {32, 8});
  Axis r = reduce_axis("r", 8);
  EXPECT_EQ(text(sum(t(i, floordiv(r, 8) * 3 + r), r)), "sum[r: 8](T[i, r])");
  EXPECT_EQ(text(sum(select(r < 3, t(i, r), 1.0f), r, r < 3)), "sum[r: 8](T[i, r], where=r < 3)");
  EXPECT_EQ(text(sum(t(i, r), r, r < 8)), "sum[r: 8](T[i, r])");
}

TEST_F(Simplify, VectorsAreRampsWherePossible) {
  const Expr lanes = make_ramp(i * 8, 1, 8);
  EXPECT_EQ(text(lanes * 4 + 3), "ramp(i * 32 + 3, 4, 8)");
  EXPECT_EQ(text(floordiv(lanes, 16)), "broadcast(floordiv(i, 2), 8)");
  EXPECT_EQ(text(floormod(lanes, 16)), "ramp(floormod(i, 2) * 8, 1, 8)");
  EXPECT_EQ(text(lanes < 256), "broadcast(true, 8)");
  EXPECT_EQ(text(lanes < 64), "broadcast(i < 8, 8)");
  EXPECT_EQ(text(lanes < 61), "ramp(i * 8, 1, 8) < broadcast(61, 8)");
}

TEST_F(Simplify, LoadsOfOneElementAreBroadcast) {
  Buffer a = make_buffer("A", DType::F32, {32, 32}, BufferScope::Param);
  EXPECT_EQ(text(make_load(a, {i, make_broadcast(j, 8)})), "broadcast(A[i, j], 8)");
  EXPECT_EQ(text(make_load(a, {make_broadcast(i, 8), make_ramp(j, 1, 8)})), "A[i, ramp(j, 1, 8)]");
}

TEST_F(Simplify, LoadsOfNothingAreZero) {
  Buffer a = make_buffer("A", DType::F32, {32}, BufferScope::Param);
  EXPECT_EQ(text(make_load(a, {i}, i < 0)), "0.0f32");
  EXPECT_EQ(text(make_load(a, {i}, i < 32)), "A[i]");
}

TEST_F(Simplify, SameNodeWhenNothingChanges) {
  const Expr es[] = {i * 16 + j,    floordiv(x, 7) + 3,         select(x < 5, i, j * 2),
                     min(x, y + 1), i * 16 + j < 250 && x >= 3, make_ramp(i * 8, 2, 4)};
  for (const Expr& e : es) EXPECT_TRUE(simplify(e, b).same_as(e)) << to_string(e);
}

TEST_F(Simplify, SharedTreesTakeLinearTime) {
  Expr e = x, m = x;
  for (int n = 0; n < 50; ++n) {
    e = e + e;
    m = max(min(m, y), min(m, i));
  }
  EXPECT_EQ(text(e - e), "0");
  simplify(m, b);  // returns
}

TEST_F(Simplify, ProveIsTrueOnlyIfProven) {
  EXPECT_TRUE(prove(i * 16 + j <= 511, b));
  EXPECT_FALSE(prove(i * 16 + j <= 510, b));
  EXPECT_FALSE(prove(i < 32));
}

TEST_F(Simplify, BoundsOfExpressions) {
  const auto range = [&](const Expr& e) {
    const Interval r = b.of(e);
    return std::pair(r.lo, r.hi);
  };
  EXPECT_EQ(range(i * 16 + j), std::pair(INT64_C(0), INT64_C(511)));
  EXPECT_EQ(range(i - i + k), std::pair(INT64_C(-8), INT64_C(7)));
  EXPECT_EQ(range(floordiv(k, 3)), std::pair(INT64_C(-3), INT64_C(2)));
  EXPECT_EQ(range(k / 3), std::pair(INT64_C(-2), INT64_C(2)));
  EXPECT_EQ(range(abs(k)), std::pair(INT64_C(0), INT64_C(8)));
  EXPECT_EQ(range(x < y), std::pair(INT64_C(0), INT64_C(1)));
  EXPECT_EQ(range(i < 50), std::pair(INT64_C(1), INT64_C(1)));
  EXPECT_EQ(range(Var("n") + 1), std::pair(INT64_MIN, INT64_MAX));
  EXPECT_EQ(range(Var("n", DType::U8) + 1), std::pair(INT64_C(0), INT64_C(255)));
}

TEST_F(Simplify, AffineForms) {
  const auto form = as_affine((i + 2) * 16 - j + i, b);
  ASSERT_TRUE(form);
  ASSERT_EQ(form->terms.size(), 2u);
  EXPECT_TRUE(form->terms[0].first.same_as(i));
  EXPECT_EQ(form->terms[0].second, 17);
  EXPECT_EQ(form->terms[1].second, -1);
  EXPECT_EQ(form->offset, 32);
  EXPECT_FALSE(as_affine(i * j, b));
  EXPECT_FALSE(as_affine(floordiv(i, 2), b));
  EXPECT_FALSE(as_affine(Var("n") + 1, b));
  EXPECT_TRUE(as_affine(Var("n")));
}

}  // namespace
}  // namespace espalier
