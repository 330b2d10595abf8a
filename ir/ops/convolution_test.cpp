#include <gmock/gmock.h>

#include "espalier/ir/ops/test_spec.h"

namespace espalier {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

TEST(ConvolutionOp, WindowSums) {
  // 3x3 input of 1..9, 2x2 kernel of ones.
  EXPECT_THAT(run_spec("conv2d:n=1,h=3,w=3,ci=1,co=1,k=2", {counting(9), {1, 1, 1, 1}}),
              ElementsAre(12, 16, 24, 28));
}

TEST(ConvolutionOp, IsACrossCorrelation) {
  EXPECT_THAT(run_spec("conv2d:n=1,h=2,w=2,ci=1,co=1,k=2", {{1, 2, 3, 4}, {1, 10, 100, 1000}}),
              ElementsAre(4321));
}

TEST(ConvolutionOp, PaddingStrideDilation) {
  EXPECT_THAT(
      run_spec("conv2d:n=1,h=3,w=3,ci=1,co=1,k=3,p=1", {counting(9), std::vector<double>(9, 1)}),
      ElementsAre(12, 21, 16, 27, 45, 33, 24, 39, 28));
  EXPECT_THAT(run_spec("conv2d:n=1,h=3,w=3,ci=1,co=1,k=3,s=2,p=1",
                       {counting(9), std::vector<double>(9, 1)}),
              ElementsAre(12, 16, 24, 28));
  EXPECT_THAT(run_spec("conv2d:n=1,h=3,w=3,ci=1,co=1,k=2,d=2", {counting(9), {1, 1, 1, 1}}),
              ElementsAre(1 + 3 + 7 + 9));
}

TEST(ConvolutionOp, LopsidedPaddingAndKernel) {
  // A 1x2 kernel over a row, one cell of padding in front.
  EXPECT_THAT(run_spec("conv2d:n=1,h=1,w=3,ci=1,co=1,kh=1,kw=2,pl=1", {{1, 2, 3}, {10, 1}}),
              ElementsAre(1, 12, 23));
}

TEST(ConvolutionOp, ChannelsAndBatch) {
  // X[n, 1, 1, ci], W[1, 1, ci, co].
  EXPECT_THAT(run_spec("conv2d:n=2,h=1,w=1,ci=2,co=3,k=1", {{1, 2, 3, 4}, {1, 2, 3, 10, 20, 30}}),
              ElementsAre(21, 42, 63, 43, 86, 129));
}

TEST(ConvolutionOp, GroupsSeeTheirChannelsOnly) {
  // ci=4, co=4, g=2: outputs 0, 1 see inputs 0, 1. W[1, 1, 2, 4].
  EXPECT_THAT(run_spec("conv2d:n=1,h=1,w=1,ci=4,co=4,k=1,g=2",
                       {{1, 2, 3, 4}, {1, 10, 1, 10, 1, 10, 1, 10}}),
              ElementsAre(3, 30, 7, 70));
}

TEST(ConvolutionOp, AsManyGroupsAsChannels) {
  EXPECT_THAT(run_spec("conv2d:n=1,h=1,w=1,ci=2,co=2,k=1,g=2", {{3, 4}, {10, 100}}),
              ElementsAre(30, 400));
  EXPECT_THAT(run_spec("conv2d:n=1,h=1,w=1,ci=2,co=4,k=1,g=2", {{3, 4}, {1, 2, 3, 4}}),
              ElementsAre(3, 6, 12, 16));
}

TEST(ConvolutionOp, DepthwiseMultiplier) {
  // Output channel = channel * mult + which; W[1, 1, c, mult].
  EXPECT_THAT(run_spec("depthwise_conv2d:n=1,h=1,w=1,c=2,k=1,mult=2", {{3, 4}, {1, 2, 10, 20}}),
              ElementsAre(3, 6, 40, 80));
}

TEST(ConvolutionOp, DepthwiseMatchesGroups) {
  const std::vector<double> x = counting(2 * 5 * 5), w = counting(9 * 2, -4);
  EXPECT_THAT(run_spec("depthwise_conv2d:n=1,h=5,w=5,c=2,k=3,s=2,p=1", {x, w}),
              ElementsAreArray(run_spec("conv2d:n=1,h=5,w=5,ci=2,co=2,k=3,s=2,p=1,g=2", {x, w})));
}

TEST(ConvolutionOp, OneAndThreeDimensions) {
  EXPECT_THAT(run_spec("conv1d:n=1,l=4,ci=1,co=1,k=3,p=1", {{1, 2, 3, 4}, {1, 10, 100}}),
              ElementsAre(210, 321, 432, 43));
  EXPECT_THAT(run_spec("conv3d:n=1,depth=2,h=2,w=2,ci=1,co=1,k=2", {counting(8), counting(8)}),
              ElementsAre(204));
}

TEST(ConvolutionOp, CapsulesMultiplyMatrices) {
  // One capsule times one: a matrix product.
  EXPECT_THAT(
      run_spec("capsule_conv2d:n=1,h=1,w=1,ci=1,co=1,k=1,caps=2", {{1, 2, 3, 4}, {5, 6, 7, 8}}),
      ElementsAre(19, 22, 43, 50));
}

TEST(ConvolutionOp, CapsulesSlide) {
  constexpr int64_t kH = 3, kW = 4, kIn = 2, kOut = 3, kCaps = 2, kOutH = 2, kOutW = 2;
  const std::vector<double> x = counting(kH * kW * kIn * kCaps * kCaps, -20);
  const std::vector<double> w = counting(3 * 3 * kIn * kOut * kCaps * kCaps, -30);
  std::vector<double> expected;
  for (int64_t oh = 0; oh < kOutH; ++oh)
    for (int64_t ow = 0; ow < kOutW; ++ow)
      for (int64_t o = 0; o < kOut; ++o)
        for (int64_t i = 0; i < kCaps; ++i)
          for (int64_t j = 0; j < kCaps; ++j) {
            double total = 0;
            for (int64_t kh = 0; kh < 3; ++kh)
              for (int64_t kw = 0; kw < 3; ++kw)
                for (int64_t c = 0; c < kIn; ++c)
                  for (int64_t k = 0; k < kCaps; ++k) {
                    const int64_t row = oh * 2 + kh - 1, col = ow * 2 + kw - 1;
                    if (row < 0 || row >= kH || col < 0 || col >= kW) continue;
                    total += x[static_cast<size_t>(
                                 (((row * kW + col) * kIn + c) * kCaps + i) * kCaps + k)] *
                             w[static_cast<size_t>(
                                 ((((kh * 3 + kw) * kIn + c) * kOut + o) * kCaps + k) * kCaps + j)];
                  }
            expected.push_back(total);
          }
  EXPECT_THAT(run_spec("capsule_conv2d:n=1,h=3,w=4,ci=2,co=3,k=3,s=2,p=1,caps=2", {x, w}),
              ElementsAreArray(expected));
}

TEST(ConvolutionOp, TermsInPaddingAreAbsent) {
  // An infinite weight that only falls on padding has no effect.
  EXPECT_THAT(
      run_spec(
          "conv2d:n=1,h=1,w=1,ci=1,co=1,k=3,p=1",
          {{2}, {INFINITY, INFINITY, INFINITY, INFINITY, 3, INFINITY, INFINITY, INFINITY, NAN}}),
      ElementsAre(6));
}

TEST(ConvolutionOp, BiasThenRelu) {
  EXPECT_THAT(
      run_spec("conv2d:n=1,h=1,w=1,ci=1,co=2,k=1,epilogue=bias+relu", {{1}, {1, 1}, {2, -3}}),
      ElementsAre(3, 0));
}

TEST(ConvolutionOp, StaysAffineWithoutGroups) {
  const ComputeDag dag = load_workload("conv2d:n=1,h=8,w=8,ci=4,co=4,k=3,s=2,p=1").value();
  const StageInfo& y = dag.stage(dag.find("Y"));
  EXPECT_TRUE(y.anchor);
  for (const Access& a : y.accesses) {
    for (const LinearIndex& f : a.linear) EXPECT_TRUE(f.affine);
  }
}

TEST(ConvolutionOp, NoConditionWithoutPadding) {
  const ComputeDag dag = load_workload("conv2d:n=1,h=8,w=8,ci=4,co=4,k=1").value();
  EXPECT_FALSE(dag.stage(dag.find("Y")).reduce()->where);
}

TEST(ConvolutionErrors, ImpossibleShapes) {
  EXPECT_THAT(workload_error("depthwise_conv2d:n=1,h=3,w=3,c=1099511627776,k=1,mult=1099511627776"),
              HasSubstr("too many channels"));
  EXPECT_THAT(workload_error("conv2d:n=1,h=3,w=3,ci=1,co=1,k=6,p=1"),
              AllOf(HasSubstr("kh=6"), HasSubstr("h=3")));
  EXPECT_THAT(workload_error("conv2d:n=1,h=3,w=3,ci=1,co=1,k=2,d=3"), HasSubstr("dilation 3"));
  EXPECT_THAT(workload_error("conv2d:n=1,h=3,w=3,ci=1,co=1,k=1,s=0"),
              AllOf(HasSubstr("s=0"), HasSubstr("from 1")));
  EXPECT_THAT(workload_error("conv2d:n=1,h=3,w=3,ci=4,co=6,k=1,g=4"),
              AllOf(HasSubstr("g=4"), HasSubstr("ci=4"), HasSubstr("co=6")));
  EXPECT_THAT(workload_error("conv2d:n=1,h=3,w=3,ci=1,co=1,k=1,g=0"), HasSubstr("g=0"));
  EXPECT_THAT(workload_error("conv2d:n=1,h=3,w=3,ci=1,co=1,k=1,p=-1"), HasSubstr("p=-1"));
  EXPECT_THAT(workload_error("conv2d:n=1,h=3,w=3,ci=1,co=1,k=1,layout=chwn"),
              AllOf(HasSubstr("layout=chwn"), HasSubstr("nhwc nchw")));
  EXPECT_THAT(workload_error("conv2d:n=1,h=3,w=3,ci=1,co=1,k=1099511627776,d=1099511627776"),
              HasSubstr("kh="));
}

}  // namespace
}  // namespace espalier
