#include <gmock/gmock.h>

#include "espalier/ir/ops/test_spec.h"

namespace espalier {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;
using ::testing::IsNan;

constexpr double kInf = INFINITY;

TEST(SoftmaxOp, Rows) {
  const double third = 1 / (1 + std::exp(1.0));
  const std::vector<double> y = run_spec("softmax:rows=2,cols=2", {{0, 1, 5, 5}});
  EXPECT_NEAR(y[0], third, 1e-7);
  EXPECT_NEAR(y[1], 1 - third, 1e-7);
  EXPECT_EQ(y[2], 0.5);
  EXPECT_EQ(y[3], 0.5);
}

TEST(SoftmaxOp, LargeValuesDoNotOverflow) {
  EXPECT_THAT(run_spec("softmax:rows=1,cols=2", {{1e30, 1e30}}), ElementsAre(0.5, 0.5));
}

TEST(SoftmaxOp, MaskedRowIsNaNAndItsNeighboursAreNot) {  // D9
  const std::vector<double> y =
      run_spec("softmax:rows=2,cols=3", {{-kInf, -kInf, -kInf, -kInf, 2, 2}});
  EXPECT_THAT(std::vector<double>(y.begin(), y.begin() + 3), Each(IsNan()));
  EXPECT_THAT(std::vector<double>(y.begin() + 3, y.end()), ElementsAre(0, 0.5, 0.5));
}

TEST(SoftmaxOp, PositiveInfinityIsNaN) {
  EXPECT_THAT(run_spec("softmax:rows=1,cols=3", {{kInf, 1, 2}}), Each(IsNan()));
}

TEST(SoftmaxOp, AnyAxis) {
  EXPECT_THAT(run_spec("softmax:shape=2x3,axis=0", {{1, 2, 3, 1, 2, 3}}), Each(0.5));
  EXPECT_THAT(run_spec("softmax:shape=2x2", {{1, 1, 3, 3}}), Each(0.5));
}

TEST(SoftmaxErrors, Shapes) {
  EXPECT_THAT(workload_error("softmax:rows=3"), HasSubstr("'cols'"));
  EXPECT_THAT(workload_error("softmax:shape=2x3,axis=2"), HasSubstr("axis=2"));
  EXPECT_THAT(workload_error("softmax:shape=2x3,rows=2"), HasSubstr("one or the other"));
}

TEST(LayerNormOp, CentresScalesAndShifts) {
  const double d = 1 / std::sqrt(1 + 1e-5);
  const std::vector<double> y =
      run_spec("layer_norm:rows=1,cols=2", {{1e4 - 1, 1e4 + 1}, {1, 2}, {0.5, -0.5}});
  EXPECT_NEAR(y[0], -d + 0.5, 1e-6);
  EXPECT_NEAR(y[1], 2 * d - 0.5, 1e-6);
}

TEST(LayerNormOp, ConstantRowIsTheBias) {
  EXPECT_THAT(run_spec("layer_norm:rows=1,cols=3", {{7, 7, 7}, {1, 2, 3}, {4, 5, 6}}),
              ElementsAre(4, 5, 6));
}

TEST(LayerNormOp, EpilogueNamesDoNotClash) {
  const ComputeDag dag = load_workload("layer_norm:rows=1,cols=2,epilogue=bias").value();
  EXPECT_GE(dag.find("bias1"), 0);
}

}  // namespace
}  // namespace espalier
