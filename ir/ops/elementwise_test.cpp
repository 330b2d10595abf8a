#include <gmock/gmock.h>

#include "espalier/ir/ops/test_spec.h"

namespace espalier {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

constexpr double kInf = INFINITY;

std::vector<double> apply(const std::string& op, std::vector<double> x) {
  const std::string n = std::to_string(x.size());
  return run_spec("elementwise:dtype=f64,op=" + op + ",shape=" + n, {std::move(x)});
}

TEST(ElementwiseOp, ExactOnes) {
  EXPECT_THAT(apply("relu", {-1, 2}), ElementsAre(0, 2));
  EXPECT_THAT(apply("relu6", {-1, 2, 8}), ElementsAre(0, 2, 6));
  EXPECT_THAT(apply("abs", {-1.5, 2}), ElementsAre(1.5, 2));
  EXPECT_THAT(apply("neg", {-1.5, 2}), ElementsAre(1.5, -2));
  EXPECT_THAT(apply("round", {0.5, 1.5, -2.5}), ElementsAre(0, 2, -2));
  EXPECT_THAT(apply("floor", {-0.5, 1.5}), ElementsAre(-1, 1));
  EXPECT_THAT(apply("ceil", {-0.5, 1.5}), ElementsAre(0, 2));
  EXPECT_THAT(apply("sqrt", {4, 2.25}), ElementsAre(2, 1.5));
  EXPECT_THAT(apply("hardsigmoid", {-4, 0, 4}), ElementsAre(0, 0.5, 1));
}

TEST(ElementwiseOp, MathFunctions) {
  const double x = 0.7;
  EXPECT_NEAR(apply("exp", {x})[0], std::exp(x), 1e-15);
  EXPECT_NEAR(apply("log", {x})[0], std::log(x), 1e-15);
  EXPECT_NEAR(apply("tanh", {x})[0], std::tanh(x), 1e-15);
  EXPECT_NEAR(apply("erf", {x})[0], std::erf(x), 1e-15);
  EXPECT_NEAR(apply("rsqrt", {x})[0], 1 / std::sqrt(x), 1e-15);
  EXPECT_NEAR(apply("sigmoid", {x})[0], 1 / (1 + std::exp(-x)), 1e-15);
  EXPECT_NEAR(apply("silu", {x})[0], x / (1 + std::exp(-x)), 1e-15);
  EXPECT_NEAR(apply("gelu", {x})[0], x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))), 1e-15);
  EXPECT_NEAR(apply("gelu_tanh", {x})[0],
              0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))), 1e-15);
  EXPECT_NEAR(apply("hardswish", {x})[0], x * (x + 3) / 6, 1e-15);
}

TEST(ElementwiseOp, ActivationsOfInfinities) {
  for (const char* op : {"silu", "gelu", "gelu_tanh", "hardswish", "relu", "sigmoid"}) {
    EXPECT_EQ(apply(op, {-kInf})[0], 0) << op;
    EXPECT_THAT(apply(op, {NAN}), ElementsAre(IsNan())) << op;
  }
  for (const char* op : {"silu", "gelu", "gelu_tanh", "hardswish", "relu"}) {
    EXPECT_EQ(apply(op, {kInf})[0], kInf) << op;
  }
}

TEST(ElementwiseOp, TwoOperands) {
  auto run = [](const std::string& op) {
    return run_spec("elementwise:op=" + op + ",shape=2", {{7, -8}, {2, 3}});
  };
  EXPECT_THAT(run("add"), ElementsAre(9, -5));
  EXPECT_THAT(run("sub"), ElementsAre(5, -11));
  EXPECT_THAT(run("mul"), ElementsAre(14, -24));
  EXPECT_THAT(run("div"), ElementsAre(3.5, static_cast<double>(-8.0f / 3.0f)));
  EXPECT_THAT(run("mod"), ElementsAre(1, -2));
  EXPECT_THAT(run("min"), ElementsAre(2, -8));
  EXPECT_THAT(run("max"), ElementsAre(7, 3));
  EXPECT_THAT(run("pow"), ElementsAre(49, -512));
}

TEST(ElementwiseOp, NaNInMaxAndMin) {  // D1
  for (const char* op : {"max", "min"}) {
    const std::string spec = std::string("elementwise:shape=2,op=") + op;
    EXPECT_THAT(run_spec(spec, {{NAN, 1}, {1, NAN}}), Each(IsNan()));
  }
}

TEST(ElementwiseOp, AddsAScalarToOddSizes) {  // I5
  EXPECT_THAT(run_spec("elementwise:op=add,shape=131x111x3,b=1",
                       {std::vector<double>(131 * 111 * 3, 2), {1}}),
              Each(3));
}

TEST(ElementwiseOp, Broadcasts) {
  EXPECT_THAT(run_spec("elementwise:op=add,shape=2x1,b=3", {{10, 20}, {1, 2, 3}}),
              ElementsAre(11, 12, 13, 21, 22, 23));
  EXPECT_THAT(run_spec("elementwise:op=add,shape=2x2,b=", {counting(4), {1}}),
              ElementsAre(2, 3, 4, 5));
}

TEST(ElementwiseOp, Chains) {
  EXPECT_THAT(run_spec("elementwise:op=cscale+bias+relu,shape=2x2", {counting(4), {2, -1}, {1, 3}}),
              ElementsAre(3, 1, 7, 0));
  EXPECT_THAT(run_spec("elementwise:op=add+add,shape=2", {{1, 2}, {10, 20}, {100, 200}}),
              ElementsAre(111, 222));
}

TEST(ElementwiseOp, CastRoundsOnce) {
  EXPECT_THAT(run_spec("elementwise:op=cast,to=f32,dtype=f64,shape=1", {{0.1}}),
              ElementsAre(static_cast<double>(0.1f)));
}

TEST(ElementwiseErrors, Words) {
  EXPECT_THAT(workload_error("elementwise:op=add+foo,shape=2"), HasSubstr("no step 'foo'"));
  EXPECT_THAT(workload_error("elementwise:op=cast,shape=2"), HasSubstr("to="));
  EXPECT_THAT(workload_error("elementwise:op=relu,shape=2,b=2"), HasSubstr("two operands"));
  EXPECT_THAT(workload_error("elementwise:op=add,shape=2x3,b=2"), HasSubstr("b=2"));
}

}  // namespace
}  // namespace espalier
