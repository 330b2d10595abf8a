#include "espalier/ir/scalar_ops.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>

namespace espalier {
namespace {

using enum BinaryOp;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

int64_t integer(BinaryOp op, DType t, int64_t a, int64_t b) {
  return static_cast<int64_t>(apply(op, t, bits_from_int(t, a), bits_from_int(t, b)));
}
double floating(BinaryOp op, DType t, double a, double b) {
  return double_from_bits(t, apply(op, t, bits_from_double(t, a), bits_from_double(t, b)));
}
double floating(UnaryOp op, DType t, double a) {
  return double_from_bits(t, apply(op, t, bits_from_double(t, a)));
}
int64_t to_int(DType from, double v, DType to) {
  return static_cast<int64_t>(apply_cast(from, to, bits_from_double(from, v)));
}

TEST(ScalarOps, IntegersWrapInEveryType) {
  EXPECT_EQ(integer(Add, DType::I8, 127, 1), -128);
  EXPECT_EQ(integer(Mul, DType::U16, 65535, 65535), 1);
  EXPECT_EQ(integer(Sub, DType::I64, INT64_MIN, 1), INT64_MAX);
  EXPECT_EQ(integer(Mul, DType::I32, 46341, 46341), -2147479015);
}

// B13: unsigned results wrap.
TEST(ScalarOps, UnsignedSubtractionWraps) { EXPECT_EQ(integer(Sub, DType::U32, 0, 2), 4294967294); }

TEST(ScalarOps, DivisionIsTotal) {
  for (BinaryOp op : {FloorDiv, FloorMod, TruncDiv, TruncMod}) {
    EXPECT_EQ(integer(op, DType::I32, 5, 0), 0) << name_of(op);
    EXPECT_EQ(integer(op, DType::U8, 200, 0), 0) << name_of(op);
  }
  for (DType t : {DType::I8, DType::I16, DType::I32, DType::I64}) {
    EXPECT_EQ(integer(FloorDiv, t, int_min(t), -1), int_min(t));
    EXPECT_EQ(integer(TruncDiv, t, int_min(t), -1), int_min(t));
    EXPECT_EQ(integer(FloorMod, t, int_min(t), -1), 0);
    EXPECT_EQ(integer(TruncMod, t, int_min(t), -1), 0);
  }
}

// A10: -21 floordiv 5 and -21 floormod 5.
TEST(ScalarOps, FloorDivisionRoundsDown) {
  EXPECT_EQ(integer(FloorDiv, DType::I64, -21, 5), -5);
  EXPECT_EQ(integer(FloorMod, DType::I64, -21, 5), 4);
  EXPECT_EQ(integer(FloorDiv, DType::I64, 21, -5), -5);
  EXPECT_EQ(integer(FloorMod, DType::I64, 21, -5), -4);
}

// A6: (241 + 48x) / 16 at x = -10, by floor and by truncation.
TEST(ScalarOps, FloorAndTruncationDiffer) {
  EXPECT_EQ(integer(FloorDiv, DType::I64, 241 - 480, 16), -15);
  EXPECT_EQ(integer(TruncDiv, DType::I64, 241 - 480, 16), -14);
}

// A2, A4: ceildiv(a, b) written as -floordiv(-a, b), where -a wraps for the smallest number; as
// floordiv(a + b - 1, b) nothing does.
TEST(ScalarOps, CeilDivisionOfTheSmallestNumber) {
  const auto ceildiv = [](DType t, int64_t a, int64_t b) {
    return integer(FloorDiv, t, integer(Add, t, a, integer(Sub, t, b, 1)), b);
  };
  EXPECT_EQ(ceildiv(DType::I64, INT64_MIN, 1189465982), -7754212542);
  EXPECT_EQ(ceildiv(DType::I32, INT32_MIN, 7), -306783378);
}

// A8: division by one changes nothing.
TEST(ScalarOps, DivisionByOneKeepsNegatives) {
  for (int64_t n : {-128, -5, 0, 7}) {
    EXPECT_EQ(integer(TruncDiv, DType::I8, n, 1), n);
    EXPECT_EQ(integer(FloorDiv, DType::I8, n, 1), n);
  }
}

// A12: division of integer data truncates.
TEST(ScalarOps, TruncatingDivisionOfData) {
  EXPECT_EQ(integer(TruncDiv, DType::I32, -5, 2), -2);
  EXPECT_EQ(integer(TruncDiv, DType::I32, 5, 2), 2);
  EXPECT_EQ(integer(TruncDiv, DType::I32, 386, 3), 128);
}

// A14: f(x) = 100 / (27 - x) has a value everywhere, so lanes past the end cannot trap.
TEST(ScalarOps, DivisionByZeroInUnusedLanesIsHarmless) {
  for (int64_t x = 0; x < 32; ++x) {
    const int64_t want = x == 27 ? 0 : 100 / (27 - x);
    EXPECT_EQ(integer(TruncDiv, DType::I32, 100, 27 - x), want);
  }
}

TEST(ScalarOps, ShiftsOutsideTheWidth) {
  EXPECT_EQ(integer(Shl, DType::I32, 1, 31), INT32_MIN);
  EXPECT_EQ(integer(Shl, DType::I32, 1, 32), 0);
  EXPECT_EQ(integer(Shl, DType::I32, 1, -1), 0);
  EXPECT_EQ(integer(Shr, DType::I8, -128, 7), -1);
  EXPECT_EQ(integer(Shr, DType::I8, -128, 100), -1);
  EXPECT_EQ(integer(Shr, DType::I8, -128, -3), -1);
  EXPECT_EQ(integer(Shr, DType::U8, 255, 8), 0);
  EXPECT_EQ(integer(Shr, DType::U64, -1, 63), 1);
}

TEST(ScalarOps, AbsOfTheSmallestWraps) {
  EXPECT_EQ(static_cast<int64_t>(apply(UnaryOp::Abs, DType::I8, bits_from_int(DType::I8, -128))),
            -128);
}

// D1: whichever side holds it.
TEST(ScalarOps, MinAndMaxPassNaNOn) {
  for (DType t : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    for (BinaryOp op : {Max, Min}) {
      EXPECT_TRUE(std::isnan(floating(op, t, kNaN, 1)));
      EXPECT_TRUE(std::isnan(floating(op, t, 1, kNaN)));
    }
    EXPECT_EQ(floating(Max, t, -1, 1), 1);
    EXPECT_EQ(floating(Min, t, -1, 1), -1);
  }
}

TEST(ScalarOps, ComparisonsWithNaNAreFalseButNe) {
  const ScalarBits nan = bits_from_double(DType::F32, kNaN);
  for (BinaryOp op : {Lt, Le, Gt, Ge, Eq}) EXPECT_EQ(apply(op, DType::F32, nan, nan), 0u);
  EXPECT_EQ(apply(Ne, DType::F32, nan, nan), 1u);
}

// D7: f32 [300, NaN, inf, -inf, 50, -50] -> i8 saturates, and NaN -> bool is true.
TEST(ScalarOps, CastsOfSpecialValues) {
  EXPECT_EQ(to_int(DType::F32, 300, DType::I8), 127);
  EXPECT_EQ(to_int(DType::F32, kNaN, DType::I8), 0);
  EXPECT_EQ(to_int(DType::F32, kInf, DType::I8), 127);
  EXPECT_EQ(to_int(DType::F32, -kInf, DType::I8), -128);
  EXPECT_EQ(to_int(DType::F32, 50.9, DType::I8), 50);
  EXPECT_EQ(to_int(DType::F32, -50.9, DType::I8), -50);
  EXPECT_EQ(to_int(DType::F32, kNaN, DType::Bool), 1);
  EXPECT_EQ(to_int(DType::F32, -0.0, DType::Bool), 0);
}

TEST(ScalarOps, FloatToIntSaturatesAtEveryWidth) {
  for (DType t : {DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32,
                  DType::U64}) {
    for (DType f : {DType::F64, DType::F32}) {
      EXPECT_EQ(to_int(f, 1e30, t), int_max(t)) << name_of(t);
      EXPECT_EQ(to_int(f, -1e30, t), int_min(t)) << name_of(t);
    }
  }
  EXPECT_EQ(to_int(DType::F64, 2147483647.5, DType::I32), INT32_MAX);
  EXPECT_EQ(to_int(DType::F64, -2147483648.5, DType::I32), INT32_MIN);
  EXPECT_EQ(to_int(DType::F32, -0.5, DType::U8), 0);
  EXPECT_EQ(to_int(DType::F16, kInf, DType::I64), INT64_MAX);
}

TEST(ScalarOps, IntegerCastsKeepTheLowBits) {
  EXPECT_EQ(static_cast<int64_t>(apply_cast(DType::I32, DType::I8, bits_from_int(DType::I32, 300))),
            44);
  EXPECT_EQ(static_cast<int64_t>(apply_cast(DType::I8, DType::U32, bits_from_int(DType::I8, -1))),
            4294967295);
  EXPECT_EQ(static_cast<int64_t>(apply_cast(DType::U32, DType::I64, bits_from_int(DType::U32, -1))),
            4294967295);
}

TEST(ScalarOps, IntegersRoundOnceToFloats) {
  // 2^24 + 1 is between two f32; 2^53 + 1 between two f64.
  EXPECT_EQ(double_from_bits(DType::F32, bits_from_int(DType::F32, 16777217)), 16777216);
  EXPECT_EQ(double_from_bits(DType::F64, bits_from_int(DType::F64, 9007199254740993)),
            9007199254740992);
  EXPECT_EQ(double_from_bits(DType::F16, bits_from_int(DType::F16, 70000)), kInf);
  // Just above a tie of bf16 (8 bits): rounding to f32 or f64 first would make it the tie.
  const int64_t tie = (int64_t{257} << 54), above = tie + 1;
  EXPECT_EQ(double_from_bits(DType::BF16, bits_from_int(DType::BF16, tie)), 0x1p62);
  EXPECT_EQ(double_from_bits(DType::BF16, bits_from_int(DType::BF16, above)), 0x1.02p62);
  EXPECT_EQ(double_from_bits(DType::BF16, bits_from_int(DType::BF16, -above)), -0x1.02p62);
  EXPECT_EQ(double_from_bits(DType::BF16, apply_cast(DType::U64, DType::BF16, UINT64_MAX)), 0x1p64);
}

// E3: f64 -> f16 rounds once.
TEST(ScalarOps, DoubleToHalfRoundsOnce) {
  EXPECT_EQ(bits_from_double(DType::F16, 0.23504638671874997), 0x3385u);
}

TEST(ScalarOps, SinglePrecisionIsComputedInSingle) {
  EXPECT_EQ(floating(Add, DType::F32, 16777216, 1), 16777216);
  EXPECT_EQ(floating(Mul, DType::F32, 1e30, 1e30), kInf);
}

TEST(ScalarOps, HalfRoundsEveryOperation) {
  EXPECT_EQ(floating(Add, DType::F16, 2048, 1), 2048);
  EXPECT_EQ(floating(Mul, DType::F16, 300, 300), kInf);
  EXPECT_EQ(floating(Add, DType::BF16, 256, 1), 256);
  EXPECT_EQ(floating(Mul, DType::F16, 0x1p-14, 0x1p-10), 0x1p-24);  // subnormal
}

TEST(ScalarOps, FmaRoundsOnce) {
  const double x = 1 + 0x1p-12;
  const ScalarBits a = bits_from_double(DType::F32, x), c = bits_from_double(DType::F32, -x * 1);
  EXPECT_EQ(double_from_bits(DType::F32, apply_fma(DType::F32, a, a, c)),
            static_cast<double>(static_cast<float>(x * x - x)));
}

TEST(ScalarOps, RoundIsHalfToEven) {
  EXPECT_EQ(floating(UnaryOp::Round, DType::F32, 0.5), 0);
  EXPECT_EQ(floating(UnaryOp::Round, DType::F32, 1.5), 2);
  EXPECT_EQ(floating(UnaryOp::Round, DType::F64, -2.5), -2);
  EXPECT_TRUE(std::signbit(floating(UnaryOp::Round, DType::F64, -0.25)));
}

TEST(ScalarOps, ExpHasNoSubnormalResults) {
  EXPECT_EQ(floating(UnaryOp::Exp, DType::F32, -88), 0);
  EXPECT_GT(floating(UnaryOp::Exp, DType::F32, -87), FLT_MIN);
  EXPECT_EQ(floating(UnaryOp::Exp, DType::F64, -709), 0);
  EXPECT_EQ(floating(UnaryOp::Exp, DType::F32, -kInf), 0);
  EXPECT_TRUE(std::isnan(floating(UnaryOp::Exp, DType::F32, kNaN)));
}

TEST(ScalarOps, SigmoidOfLargeArgumentsIsFinite) {
  EXPECT_EQ(floating(UnaryOp::Sigmoid, DType::F64, -1000), 0);
  EXPECT_EQ(floating(UnaryOp::Sigmoid, DType::F64, 1000), 1);
  EXPECT_DOUBLE_EQ(floating(UnaryOp::Sigmoid, DType::F64, -40), std::exp(-40.0));
}

TEST(ScalarOps, UndefinedCombinationsAreTold) {
  EXPECT_FALSE(is_defined(Div, DType::I32));
  EXPECT_FALSE(is_defined(FloorDiv, DType::F32));
  EXPECT_FALSE(is_defined(Add, DType::Bool));
  EXPECT_FALSE(is_defined(And, DType::F32));
  EXPECT_FALSE(is_defined(UnaryOp::Exp, DType::I32));
  EXPECT_TRUE(is_defined(TruncMod, DType::F32));
  EXPECT_TRUE(is_defined(Max, DType::Bool));
}

TEST(ScalarOps, MemoryRoundTripKeepsBits) {
  char bytes[8];
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i) {
    const DType t = static_cast<DType>(i);
    const ScalarBits v = bits_from_int(t, t == DType::Bool ? 1 : -3);
    store_scalar(t, bytes, v);
    EXPECT_EQ(load_scalar(t, bytes), v) << name_of(t);
  }
}

TEST(ScalarOps, ReinterpretKeepsBits) {
  EXPECT_EQ(apply_reinterpret(DType::F32, DType::I32, bits_from_double(DType::F32, -0.0)),
            static_cast<ScalarBits>(int64_t{INT32_MIN}));
  EXPECT_EQ(apply_reinterpret(DType::I64, DType::F64, 0x7ff0000000000000), 0x7ff0000000000000u);
}

}  // namespace
}  // namespace espalier
