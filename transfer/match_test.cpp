#include "espalier/transfer/match.h"

#include "espalier/transfer/roles.h"
#include "espalier/transfer/test_support.h"

namespace espalier {
namespace {

MatchLevel level_of(std::string_view donor, std::string_view target) {
  const ComputeDag a = dag_of(donor), b = dag_of(target);
  const Match m = match(a, b);
  EXPECT_TRUE(m.ok()) << donor << " / " << target << ": " << explain(m.reason(), a, b);
  return m.ok() ? m.map().level : MatchLevel::Role;
}

MismatchCode reason_of(std::string_view donor, std::string_view target) {
  const ComputeDag a = dag_of(donor), b = dag_of(target);
  const Match m = match(a, b);
  EXPECT_FALSE(m.ok()) << donor << " / " << target << "\n" << to_string(m.map(), a, b);
  return m.ok() ? MismatchCode::NothingComputed : m.reason().code;
}

// The line of the anchors.
std::string anchors(std::string_view donor, std::string_view target) {
  const ComputeDag a = dag_of(donor), b = dag_of(target);
  const Match m = match(a, b);
  if (!m) return explain(m.reason(), a, b);
  DagMap only = m.map();
  std::erase_if(only.stages, [&](const StageMap& s) { return s.donor != only.donor_anchor; });
  const std::string text = to_string(only, a, b);
  return text.substr(0, text.size() - 1);
}

constexpr const char* kMatmul = "matmul:m=128,n=512,k=256,weights=constant,epilogue=bias+relu";
constexpr const char* kConv1x1 = "conv2d:n=1,h=28,w=28,ci=64,co=96,k=1,epilogue=bias+relu";
constexpr const char* kConv3x3 = "conv2d:n=1,h=28,w=28,ci=64,co=96,k=3,p=1,epilogue=bias+relu";

TEST(Match, TheSameProgramIsExact) {
  EXPECT_EQ(level_of(kConv3x3, kConv3x3), MatchLevel::Exact);
  EXPECT_EQ(level_of("softmax:rows=8,cols=9", "softmax:rows=8,cols=9"), MatchLevel::Exact);
}

TEST(Match, OtherExtents) {
  EXPECT_EQ(level_of(kMatmul, "matmul:m=7,n=49,k=33,weights=constant,epilogue=bias+relu"),
            MatchLevel::Extents);
  EXPECT_EQ(level_of(kConv3x3, "conv2d:n=4,h=7,w=9,ci=3,co=8,k=3,p=1,epilogue=bias+relu"),
            MatchLevel::Extents);
  EXPECT_EQ(level_of("softmax:rows=8,cols=9", "softmax:rows=100,cols=1"), MatchLevel::Extents);
}

TEST(Match, StridesPaddingAndWindowsAreParameters) {
  EXPECT_EQ(level_of(kConv1x1, kConv3x3), MatchLevel::Units);
  EXPECT_EQ(level_of(kConv3x3, "conv2d:n=1,h=28,w=28,ci=64,co=96,k=3,s=2,epilogue=bias+relu"),
            MatchLevel::Units);
}

TEST(Match, UnitAxesDoNotCount) {
  EXPECT_EQ(level_of("A = placeholder f32[1, 8, 1, 9]\n"
                     "Y[a: 1, i: 8, b: 1, j: 9] = A[a, i, b, j] * 2.0f32\nreturn Y\n",
                     "A = placeholder f32[5, 1, 6]\n"
                     "Y[i: 5, a: 1, j: 6] = A[i, a, j] * 3.0f32\nreturn Y\n"),
            MatchLevel::Units);
}

TEST(Match, OtherEpiloguesMatchByTheirAnchor) {
  EXPECT_EQ(level_of(kConv3x3, "conv2d:n=1,h=14,w=14,ci=64,co=96,k=3,p=1"), MatchLevel::Anchor);
  EXPECT_EQ(level_of(kMatmul, "matmul:m=8,n=8,k=8,weights=constant,epilogue=bias+add+gelu"),
            MatchLevel::Anchor);
}

TEST(Match, MatmulsAndConvolutionsByRole) {
  EXPECT_EQ(level_of(kMatmul, kConv1x1), MatchLevel::Role);
  EXPECT_EQ(
      anchors(kMatmul, kConv1x1),
      "product -> conv: i ~ h w, j ~ co, k ~ ci; no counterpart: n of conv, kh of conv, kw of "
      "conv");
  EXPECT_EQ(anchors("batch_matmul:b=4,m=32,n=16,k=8", "matmul:m=9,n=8,k=7"),
            "Y -> Y: i ~ i, j ~ j, k ~ k; no counterpart: b of Y");
}

TEST(Match, PaddedOrStridedConvolutionsDoNotFlatten) {
  EXPECT_EQ(anchors(kMatmul, kConv3x3),
            "product -> conv: i ~ w, j ~ co, k ~ ci; no counterpart: n of conv, h of conv, kh of "
            "conv, kw of conv");
}

TEST(Match, TransposedOperandsByRole) {
  EXPECT_EQ(anchors("matmul:m=128,n=64,k=32", "matmul:m=16,n=32,k=64,tb=1"),
            "Y -> Y: i ~ i, j ~ j, k ~ k");
}

TEST(Match, ConvolutionsOfOtherRanks) {
  EXPECT_EQ(
      anchors("conv1d:n=1,l=56,ci=64,co=32,k=3,p=1", "conv2d:n=1,h=28,w=28,ci=64,co=96,k=3,p=1"),
      "Y -> Y: l ~ w, co ~ co, k ~ kw, ci ~ ci; no counterpart: n of Y, n of Y, h of Y, kh of "
      "Y");
}

TEST(Match, DepthwiseAndPooling) {
  EXPECT_EQ(anchors("depthwise_conv2d:n=1,h=28,w=28,c=64,k=3,p=1",
                    "max_pool2d:n=1,h=28,w=28,c=32,k=2,s=2"),
            "Y -> Y: n ~ n, h ~ h, w ~ w, c ~ c, kh ~ kh, kw ~ kw");
}

TEST(Match, ReductionsOverOtherAxes) {
  EXPECT_EQ(level_of("A = placeholder f32[8, 9]\nY[i: 8] = sum[k: 9](A[i, k])\nreturn Y\n",
                     "A = placeholder f32[8, 9]\nY[i: 9] = max[k: 8](A[k, i])\nreturn Y\n"),
            MatchLevel::Role);
}

TEST(Match, LayoutsOfImages) {
  EXPECT_EQ(level_of("X = placeholder f32[1, 8, 8, 4]\nW = constant f32[1, 1, 4, 16]\n"
                     "Y[n: 1, h: 8, w: 8, co: 16] = sum[ci: 4](X[n, h, w, ci] * W[0, 0, ci, co])\n"
                     "return Y\n",
                     "X = placeholder f32[1, 4, 8, 8]\nW = constant f32[16, 4, 1, 1]\n"
                     "Y[n: 1, co: 16, h: 8, w: 8] = sum[ci: 4](X[n, ci, h, w] * W[co, ci, 0, 0])\n"
                     "return Y\n"),
            MatchLevel::Role);
}

// Near misses: alike at a glance, and refused.
TEST(Match, ADepthwiseConvolutionIsNoFullOne) {
  EXPECT_EQ(reason_of("depthwise_conv2d:n=1,h=28,w=28,c=64,k=3,p=1",
                      "conv2d:n=1,h=28,w=28,ci=64,co=96,k=3,p=1"),
            MismatchCode::RoleMissing);
}
TEST(Match, AGlobalPoolHasNoWindow) {
  EXPECT_EQ(
      reason_of("global_avg_pool2d:n=1,h=28,w=28,c=64", "max_pool2d:n=1,h=28,w=28,c=64,k=3,s=2"),
      MismatchCode::RoleMissing);
}
TEST(Match, AMatmulIsNoRowSum) {
  EXPECT_EQ(reason_of("matmul:m=8,n=9,k=10",
                      "A = placeholder f32[8, 9]\nY[i: 8] = sum[k: 9](A[i, k])\nreturn Y\n"),
            MismatchCode::RoleMissing);
}
TEST(Match, ATransposeIsNoCopy) {
  EXPECT_EQ(reason_of("A = placeholder f32[8, 9]\nY[i: 9, j: 8] = A[j, i]\nreturn Y\n",
                      "A = placeholder f32[8, 9]\nY[i: 8, j: 9] = A[i, j]\nreturn Y\n"),
            MismatchCode::Layout);
}
TEST(Match, AReductionIsNoElementwiseStage) {
  EXPECT_EQ(reason_of("softmax:rows=8,cols=9", "elementwise:op=add,shape=8x9"),
            MismatchCode::Reduction);
}
TEST(Match, AFixedOrderIsAnotherReduction) {
  EXPECT_EQ(
      reason_of("A = placeholder f32[8, 9]\nY[i: 8] = sum[k: 9](A[i, k])\nreturn Y\n",
                "A = placeholder f32[8, 9]\nY[i: 8] = ordered sum[k: 9](A[i, k])\nreturn Y\n"),
      MismatchCode::FixedOrder);
}
TEST(Match, TheReasonIsASentence) {
  const ComputeDag a = dag_of("depthwise_conv2d:n=1,h=28,w=28,c=64,k=3,p=1");
  const ComputeDag b = dag_of("conv2d:n=1,h=28,w=28,ci=64,co=96,k=3,p=1");
  EXPECT_EQ(explain(match(a, b).reason(), a, b),
            "Y of the target has spatial iterators that move read 1, Y of the donor has none");
}

TEST(Match, FamiliesOfWhatMatchesAreEqual) {
  EXPECT_EQ(family_of(dag_of(kMatmul)), family_of(dag_of(kConv3x3)));
  EXPECT_NE(family_of(dag_of(kMatmul)), family_of(dag_of("elementwise:op=add,shape=8x9")));
}

TEST(DagMap, InverseOfTheInverse) {
  const ComputeDag a = dag_of(kMatmul), b = dag_of(kConv1x1);
  const DagMap map = match(a, b).map();
  EXPECT_EQ(inverse(inverse(map)), map);
  EXPECT_EQ(inverse(map).of_donor(map.target_anchor)->target, map.donor_anchor);
}

TEST(DagMap, ThereAndBackIsTheIdentityOnWhatHasCounterparts) {
  const ComputeDag a = dag_of(kMatmul), b = dag_of(kConv1x1);
  const DagMap map = match(a, b).map();
  const DagMap round = compose(map, inverse(map));
  for (const StageMap& s : round.stages) {
    EXPECT_EQ(s.donor, s.target);
    for (const AxisGroup& g : s.axes) EXPECT_EQ(g.donor, g.target);
    for (const auto& [donor, target] : s.reads) EXPECT_EQ(donor, target);
  }
  EXPECT_EQ(round.of_donor(map.donor_anchor)->axes.size(), 3u);
}

TEST(DagMap, ComposedMapsLeadAlong) {
  const ComputeDag a = dag_of(kMatmul), b = dag_of(kConv1x1), c = dag_of(kConv3x3);
  const DagMap map = compose(match(a, b).map(), match(b, c).map());
  EXPECT_EQ(map.level, MatchLevel::Role);
  EXPECT_EQ(map.of_donor(map.donor_anchor)->target, map.target_anchor);
  const DagMap first = match(a, b).map(), second = match(b, c).map(),
               third = inverse(match(a, c).map());
  EXPECT_EQ(compose(compose(first, second), third), compose(first, compose(second, third)));
}

TEST(DagMap, TheIdentityChangesNothing) {
  const ComputeDag a = dag_of(kMatmul), b = dag_of(kConv1x1);
  const DagMap map = match(a, b).map();
  EXPECT_EQ(compose(identity_map(a), map), map);
  EXPECT_EQ(compose(map, identity_map(b)), map);
}

TEST(Roles, OfAConvolution) {
  const ComputeDag dag = dag_of("conv2d:n=1,h=28,w=28,ci=64,co=96,k=3,p=1");
  const std::vector<AxisRole> roles = roles_of(dag, anchor_of(dag));
  ASSERT_EQ(roles.size(), 7u);
  EXPECT_EQ(roles[1].reads, 1u) << "h moves the image";
  EXPECT_TRUE(roles[1].window);
  EXPECT_EQ(roles[3].reads, 2u) << "co moves the weights";
  EXPECT_TRUE(roles[3].contiguous);
  EXPECT_EQ(roles[3].adjacent, 2u);
  EXPECT_EQ(roles[6].reads, 3u) << "ci moves both";
  EXPECT_FALSE(roles[6].window);
  EXPECT_TRUE(roles[5].window);
}

TEST(Roles, RowsOfAnImageActAsOneWithoutWindows) {
  const ComputeDag flat = dag_of(kConv1x1), padded = dag_of(kConv3x3);
  EXPECT_TRUE(acts_as_one(flat, anchor_of(flat), 1, 2));
  EXPECT_FALSE(acts_as_one(padded, anchor_of(padded), 1, 2));
  EXPECT_FALSE(acts_as_one(flat, anchor_of(flat), 2, 3)) << "channels move other operands";
}

}  // namespace
}  // namespace espalier
