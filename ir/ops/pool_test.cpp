#include <gmock/gmock.h>

#include "espalier/ir/ops/test_spec.h"

namespace espalier {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

MATCHER(Close, "") { return std::abs(std::get<0>(arg) - std::get<1>(arg)) < 1e-4; }

TEST(PoolOp, CeilWithPadding) {  // G1
  EXPECT_THAT(run_spec("avg_pool2d:n=1,h=4,w=4,c=1,k=3,s=2,p=1,ceil=1,count_pad=1", {counting(16)}),
              Pointwise(Close(), {14 / 9., 30 / 9., 12 / 6., 57 / 9., 99 / 9., 36 / 6., 27 / 6.,
                                  45 / 6., 16 / 4.}));
  EXPECT_THAT(run_spec("avg_pool2d:n=1,h=4,w=4,c=1,k=3,s=2,p=1,ceil=1", {counting(16)}),
              Pointwise(Close(), {14 / 4., 30 / 6., 12 / 2., 57 / 6., 99 / 9., 36 / 3., 27 / 2.,
                                  45 / 3., 16 / 1.}));
}

TEST(PoolOp, LastWindowWithCountedPadding) {  // G3
  const std::vector<double> x = {2.0903, 4.6493, 1.6320,  -3.2051, 4.6975,
                                 4.7296, 3.3653, -1.5815, -2.3832};
  EXPECT_THAT(run_spec("avg_pool2d:n=1,h=1,w=9,c=1,kh=1,kw=7,sw=3,pw=3,ceil=1,count_pad=1", {x}),
              Pointwise(Close(), {0.73807, 2.56556, 0.80323, -0.09990}));
}

TEST(PoolOp, OverhangingWindows) {  // G5
  EXPECT_THAT(run_spec("avg_pool2d:n=1,h=1,w=9,c=1,kh=1,kw=2,sw=2,ceil=1", {counting(9)}),
              Pointwise(Close(), {1.5, 3.5, 5.5, 7.5, 9.0}));
}

TEST(PoolOp, NoWindowStartsPastTheInput) {  // G7
  // ceil((5 + 2 - 2) / 3) + 1 = 3 windows, but the third would start at 6 = 5 + 1.
  const ComputeDag dag = load_workload("max_pool2d:n=1,h=5,w=5,c=1,k=2,s=3,p=1,ceil=1").value();
  EXPECT_EQ(dag.stage(dag.find("Y")).tensor->shape, (std::vector<int64_t>{1, 2, 2, 1}));
}

TEST(PoolOp, PaddingNeverWinsAMaximum) {
  EXPECT_THAT(run_spec("max_pool2d:n=1,h=2,w=2,c=1,k=2,p=1", {{-5, -6, -7, -8}}),
              ElementsAre(-5, -5, -6, -5, -5, -6, -7, -7, -8));
}

TEST(PoolOp, MaximumOfNaNIsNaN) {
  EXPECT_THAT(run_spec("max_pool2d:n=1,h=1,w=2,c=1,kh=1,kw=2", {{NAN, 1}}),
              ElementsAre(testing::IsNan()));
  EXPECT_THAT(run_spec("max_pool2d:n=1,h=1,w=2,c=1,kh=1,kw=2", {{1, NAN}}),
              ElementsAre(testing::IsNan()));
}

TEST(PoolOp, Channels) {
  EXPECT_THAT(run_spec("max_pool2d:n=1,h=2,w=1,c=2,kh=2,kw=1", {{1, 8, 3, 4}}), ElementsAre(3, 8));
}

TEST(PoolOp, GlobalAverageOfOnes) {  // C7
  const std::vector<double> y =
      run_spec("global_avg_pool2d:n=1,h=7,w=7,c=512", {std::vector<double>(7 * 7 * 512, 1)});
  EXPECT_EQ(y.size(), 512u);
  EXPECT_THAT(y, Each(1.0));
}

TEST(PoolErrors, ImpossibleShapes) {
  EXPECT_THAT(workload_error("max_pool2d:n=1,h=8,w=8,c=1,k=3,p=3"),
              AllOf(HasSubstr("=3"), HasSubstr("below kh=3")));
  EXPECT_THAT(workload_error("avg_pool2d:n=1,h=2,w=2,c=1,k=3"), HasSubstr("kh=3"));
  EXPECT_THAT(workload_error("avg_pool2d:n=1,h=2,w=2,c=1,k=1,ceil=2"), HasSubstr("0 or 1"));
  EXPECT_THAT(workload_error("max_pool2d:n=1,h=2,w=2,c=1,k=1,count_pad=1"),
              HasSubstr("no key 'count_pad'"));
}

}  // namespace
}  // namespace espalier
