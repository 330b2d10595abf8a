#include "espalier/codegen/form_fma.h"

#include <gtest/gtest.h>

#include "espalier/codegen/test_kernels.h"

namespace espalier {
namespace {

const Buffer kX = make_buffer("X", DType::F32, {8}, BufferScope::Param);
const Buffer kY = make_buffer("Y", DType::F32, {1}, BufferScope::Param);
const Var a("a", DType::F32), b("b", DType::F32), c("c", DType::F32), d("d", DType::F32);

Expr fused(Expr value) {
  return form_fma(make_store(kY, {0}, std::move(value))).as<StoreNode>()->value;
}
Expr neg(Expr e) { return make_unary(UnaryOp::Neg, std::move(e)); }

TEST(FormFma, FusesAProductOnEitherSideOfASum) {
  EXPECT_TRUE(equal(fused(a * b + c), make_fma(a, b, c)));
  EXPECT_TRUE(equal(fused(c + a * b), make_fma(a, b, c)));
}

TEST(FormFma, SubtractsByNegating) {
  EXPECT_TRUE(equal(fused(a * b - c), make_fma(a, b, neg(c))));
  EXPECT_TRUE(equal(fused(c - a * b), make_fma(neg(a), b, c)));
  EXPECT_TRUE(equal(fused(c - neg(a) * b), make_fma(a, b, c)));
  EXPECT_TRUE(equal(fused(c + neg(a * b)), make_fma(neg(a), b, c)));
}

TEST(FormFma, OfTwoProductsFusesTheSecond) {
  EXPECT_TRUE(equal(fused(a * b + c * d), make_fma(c, d, a * b)));
}

TEST(FormFma, ChainsOfSumsFuseEachTerm) {
  EXPECT_TRUE(equal(fused(a * b + c * d + a * d), make_fma(a, d, make_fma(c, d, a * b))));
}

TEST(FormFma, KeepsAProductThatIsUsedTwice) {
  const Expr p = a * b;
  EXPECT_TRUE(equal(fused((p + c) * p), (p + c) * p));
}

TEST(FormFma, LeavesIntegersAlone) {
  const Var i("i"), j("j");
  const Stmt s = make_store(kX, {i * j + Expr(1)}, make_load(kX, {i * j + i}));
  EXPECT_TRUE(form_fma(s).same_as(s));
}

TEST(FormFma, RoundsOnce) {
  // (1 + 2^-12)^2 - 1 - 2^-11 = 2^-24, which a rounded product loses.
  const Expr x = make_load(kX, {0});
  const LoweredKernel kernel =
      test::kernel_of({kX, kY}, make_store(kY, {0}, x * x - make_load(kX, {1})));
  const JitCode code = JitCode::compile(kernel, host_target()).value();
  float in[8] = {1 + 0x1p-12f, 1 + 0x1p-11f}, out = 0;
  test::run(code, {in, &out});
  EXPECT_EQ(out, 0x1p-24f);
  test::expect_same(kernel, host_target(), /*also_before=*/false);
}

}  // namespace
}  // namespace espalier
