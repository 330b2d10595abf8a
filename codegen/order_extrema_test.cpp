#include "espalier/codegen/order_extrema.h"

#include <gtest/gtest.h>

#include <limits>

#include "espalier/codegen/emit.h"
#include "espalier/codegen/test_kernels.h"

namespace espalier {
namespace {

const Buffer kX = make_buffer("X", DType::F32, {33}, BufferScope::Param);
const Buffer kY = make_buffer("Y", DType::F32, {33}, BufferScope::Param);

Expr ordered(Expr value) {
  return order_extrema(make_store(kY, {0}, std::move(value))).as<StoreNode>()->value;
}
LoweredKernel relu() {
  const Var i("i");
  return test::kernel_of({kX, kY},
                         make_for(i, 0, 33, ForKind::Vectorized,
                                  make_store(kY, {i}, max(make_load(kX, {i}), Expr(0.0f)))));
}

TEST(OrderExtrema, ConstantsComeFirst) {
  const Var x("x", DType::F32);
  EXPECT_TRUE(equal(ordered(max(x, Expr(0.0f))), max(Expr(0.0f), x)));
  EXPECT_TRUE(
      equal(ordered(min(max(x, Expr(0.0f)), Expr(6.0f))), min(Expr(6.0f), max(Expr(0.0f), x))));
}

TEST(OrderExtrema, NanBoundsStay) {
  const Var x("x", DType::F32);
  const Expr e = max(x, Expr(std::numeric_limits<float>::quiet_NaN()));
  EXPECT_TRUE(equal(ordered(e), e));
}

TEST(OrderExtrema, ReluIsOneInstruction) {
  const std::string text = emit_assembly(relu(), test::avx2()).value();
  EXPECT_NE(text.find("vmaxps"), std::string::npos);
  EXPECT_EQ(text.find("vcmp"), std::string::npos) << text;
}

TEST(OrderExtrema, ReluOfNanIsNanInVectorBodyAndTail) {
  test::expect_same_everywhere(relu());
  for (const Target& target : {test::avx512(), test::avx2(), test::sse()}) {
    if (!target.runs_on(host_target())) continue;
    const JitCode code = JitCode::compile(relu(), target).value();
    test::Aligned<float> x(33), y(33);
    for (int64_t k = 0; k < 33; ++k) x[k] = NAN;
    test::run(code, {x.data(), y.data()});
    for (int64_t k = 0; k < 33; ++k) EXPECT_TRUE(std::isnan(y[k])) << k;
  }
}

}  // namespace
}  // namespace espalier
