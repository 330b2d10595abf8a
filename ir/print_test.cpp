// Text of expressions, statements and functions.
#include <gtest/gtest.h>

#include <limits>

#include "espalier/ir/stmt.h"
#include "espalier/ir/tensor.h"

namespace espalier {
namespace {

struct Print : testing::Test {
  Var i{"i"}, j{"j"}, x{"x", DType::F32}, n{"n", DType::I32};
  Buffer a = make_buffer("A", DType::F32, {8, 8}, BufferScope::Param);
};

TEST_F(Print, ParenthesesOnlyWhereNeeded) {
  EXPECT_EQ(to_string(i * 2 + j), "i * 2 + j");
  EXPECT_EQ(to_string((i + j) * 2), "(i + j) * 2");
  EXPECT_EQ(to_string(i - (j - 1)), "i - (j - 1)");
  EXPECT_EQ(to_string(i - j - 1), "i - j - 1");
  EXPECT_EQ(to_string(-(i + j)), "-(i + j)");
  EXPECT_EQ(to_string((i < 3 || j < 3) && i + 1 == j), "(i < 3 || j < 3) && i + 1 == j");
  EXPECT_EQ(to_string(logical_not(i < 3)), "!(i < 3)");
}

TEST_F(Print, DivisionsAreTold) {
  EXPECT_EQ(to_string(floordiv(i, 4) + floormod(i, 4)), "floordiv(i, 4) + floormod(i, 4)");
  EXPECT_EQ(to_string(i / 4), "truncdiv(i, 4)");
  EXPECT_EQ(to_string(x / 4), "x / 4.0f32");
}

TEST_F(Print, ConstantsCarryTheirType) {
  EXPECT_EQ(to_string(Expr(-5)), "-5");
  EXPECT_EQ(to_string(make_int(DType::I8, -5)), "-5i8");
  EXPECT_EQ(to_string(make_int(DType::U64, -1)), "18446744073709551615u64");
  EXPECT_EQ(to_string(Expr(0.1f)), "0.1f32");
  EXPECT_EQ(to_string(Expr(1e-7)), "1e-07f64");
  EXPECT_EQ(to_string(make_float(DType::F16, 3)), "3.0f16");
  EXPECT_EQ(to_string(Expr(-std::numeric_limits<float>::infinity())), "-f32(inf)");
  EXPECT_EQ(to_string(Expr(std::numeric_limits<double>::quiet_NaN())), "f64(nan)");
  EXPECT_EQ(to_string(make_bool(true)), "true");
}

TEST_F(Print, CastsSelectsAndFunctions) {
  EXPECT_EQ(to_string(cast(DType::F32, n) * x), "f32(n) * x");
  EXPECT_EQ(to_string(select(i < 3, max(x, 0), exp(x))), "select(i < 3, max(x, 0.0f32), exp(x))");
}

TEST_F(Print, ReadsAndReductions) {
  Tensor t = placeholder("T", {4, 8});
  Axis k = reduce_axis("k", 8);
  EXPECT_EQ(to_string(sum(t(i, k) * 2, {k}, i + k < 5)),
            "sum[k: 8](T[i, k] * 2.0f32, where=i + k < 5)");
}

TEST_F(Print, Vectors) {
  const Expr r = make_ramp(i * 8, 1, 8);
  EXPECT_EQ(to_string(make_lane_reduce(BinaryOp::Add, make_load(a, {j, r}, r < 3))),
            "lane_add(A[j, ramp(i * 8, 1, 8) if ramp(i * 8, 1, 8) < broadcast(3, 8)])");
}

TEST_F(Print, Statements) {
  Buffer t = make_buffer("T", DType::F32, {4}, BufferScope::Stack);
  const Stmt body =
      make_block({make_prefetch(a, {i, 0}, false, 2),
                  make_if(i < 3, make_flat_store(t, i, x), make_store(t, {i}, 0.0f, {}, true))});
  EXPECT_EQ(to_string(make_allocate(
                t, make_for(i, j, 4, ForKind::Parallel, make_let(x, Expr(1.0f), body), true))),
            "allocate T: f32[4] stack\n"
            "parallel for i in [j, j + 4) partition:\n"
            "  let x = 1.0f32\n"
            "  prefetch A[i, 0] to read, locality 2\n"
            "  if i < 3:\n"
            "    T[@ i] = x\n"
            "  else:\n"
            "    T[i] =nt 0.0f32\n");
}

TEST_F(Print, Functions) {
  LoweredFunc f;
  f.name = "f";
  f.params = {{a, LoweredFunc::Role::Output, 0}};
  f.body = make_block({});
  EXPECT_EQ(to_string(f), "func f(output A: f32[8, 8]) threads 1:\n  pass\n");
}

}  // namespace
}  // namespace espalier
