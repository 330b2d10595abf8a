#include "espalier/search/stage_access.h"

#include "espalier/search/test_support.h"

namespace espalier {
namespace {

using testing::task_of;

StageAccess access_of(const Task& task, const char* stage) {
  const State state = State::initial(task);
  return analyze_stage(state, state.find_stage(stage));
}

TEST(StageAccess, StridesOfAMatmul) {
  const StageAccess a = access_of(task_of("matmul:m=4,n=5,k=6"), "Y");
  ASSERT_EQ(a.reads.size(), 2u);
  EXPECT_EQ(a.reads[0].stride, (std::vector<int64_t>{6, 0, 1}));
  EXPECT_EQ(a.reads[1].stride, (std::vector<int64_t>{0, 1, 5}));
  EXPECT_FALSE(a.reads[1].uses[0]);
  EXPECT_EQ(a.write_stride, (std::vector<int64_t>{5, 1}));
  EXPECT_EQ(a.points(), 4 * 5 * 6);
}

TEST(StageAccess, PaddingGuardsRowsAndTaps) {
  const Task task = task_of("conv2d:n=1,h=8,w=8,ci=2,co=4,k=3,p=1");
  const StageAccess a = access_of(task, "Y");
  // n h w co kh kw ci
  EXPECT_EQ(a.guarded, (std::vector<bool>{false, true, true, false, true, true, false}));
}

TEST(StageAccess, NeighboursOfAPointwiseConvolutionActAsOne) {
  const StageAccess plain = access_of(task_of("conv2d:n=1,h=8,w=8,ci=2,co=4,k=1"), "Y");
  EXPECT_TRUE(is_linear_pair(plain, 1));   // h, w
  EXPECT_FALSE(is_linear_pair(plain, 2));  // w, co
  const StageAccess strided = access_of(task_of("conv2d:n=1,h=8,w=8,ci=2,co=4,k=1,s=2"), "Y");
  EXPECT_FALSE(is_linear_pair(strided, 1));
}

TEST(StageAccess, GatheredRowsStillHaveConsecutiveColumns) {
  const Task task = task_of("embedding:rows=3,cols=8,vocab=10");
  const StageAccess a = access_of(task, "Y");
  bool table = false;
  for (const ReadAccess& r : a.reads) {
    if (r.elements != 80) continue;
    table = true;
    EXPECT_FALSE(r.linear[0]);
    EXPECT_TRUE(r.contiguous(1));
  }
  EXPECT_TRUE(table);
}

TEST(StageAccess, EpiloguesReadAtTheirOwnIndex) {
  const Task task = task_of("conv2d:n=1,h=8,w=8,ci=2,co=4,k=3,p=1,epilogue=bias+relu");
  State state = State::initial(task);
  const StageId conv = state.find_stage("conv"), y = state.find_stage("Y");
  ASSERT_FALSE(state.apply(InlineStep{state.find_stage("after_bias")}).has_value());
  EXPECT_TRUE(reads_at_own_index(state, y, conv));
  EXPECT_FALSE(reads_at_own_index(state, y, state.find_stage("bias")));
  EXPECT_EQ(readers_of(state, conv), std::vector<StageId>{y});
}

TEST(StageAccess, CutsMakeGroupsPlain) {
  const Task task = task_of("conv2d:n=1,h=8,w=8,ci=8,co=12,k=3,g=2");
  const State state = State::initial(task);
  const StageId y = state.find_stage("Y");
  const std::vector<AxisCut> cuts = find_cuts(state, y);
  ASSERT_EQ(cuts.size(), 1u);
  EXPECT_EQ(cuts[0].axis, 3);
  EXPECT_EQ(cuts[0].by, 6);
  const StageAccess a = analyze_stage(state, y, cuts);
  // n h w group co kh kw ci
  EXPECT_EQ(a.extent, (std::vector<int64_t>{1, 6, 6, 2, 6, 3, 3, 4}));
  EXPECT_EQ(a.write_stride, (std::vector<int64_t>{432, 72, 12, 6, 1}));
  EXPECT_EQ(a.reads[0].stride, (std::vector<int64_t>{512, 64, 8, 4, 0, 64, 8, 1}));
  EXPECT_TRUE(a.reads[0].all_linear());
  EXPECT_FALSE(a.reads[0].uses[4]);
}

TEST(StageAccess, CutsByTheStrideLeaveThePhaseIrregular) {
  const Task task = task_of("conv2d_transpose:n=1,h=8,w=8,ci=4,co=16,k=4,s=2,p=1");
  const State state = State::initial(task);
  const StageId y = state.find_stage("Y");
  const std::vector<AxisCut> cuts = find_cuts(state, y);
  ASSERT_EQ(cuts.size(), 2u);
  EXPECT_EQ(cuts[0].by, 2);
  const StageAccess a = analyze_stage(state, y, cuts);
  // n h h' w w' co th tw ci
  EXPECT_EQ(a.origin, (std::vector<int>{0, 1, 1, 2, 2, 3, 4, 5, 6}));
  const ReadAccess& x = a.reads[0].constant ? a.reads[1] : a.reads[0];
  const ReadAccess& w = a.reads[0].constant ? a.reads[0] : a.reads[1];
  EXPECT_EQ(x.stride[1], 32);
  EXPECT_EQ(x.stride[3], 4);
  EXPECT_TRUE(x.linear[3]);
  EXPECT_FALSE(x.linear[4]);
  EXPECT_FALSE(w.uses[3]);
  EXPECT_FALSE(w.linear[4]);
  EXPECT_TRUE(w.contiguous(5));
}

TEST(StageAccess, PlainIndicesNeedNoCuts) {
  for (const char* spec : {"conv2d:n=1,h=8,w=8,ci=8,co=12,k=3,s=2,d=2,p=1", "matmul:m=4,n=5,k=6",
                           "embedding:rows=3,cols=8,vocab=10"}) {
    const Task task = task_of(spec);
    const State state = State::initial(task);
    EXPECT_TRUE(find_cuts(state, state.find_stage("Y")).empty()) << spec;
  }
}

}  // namespace
}  // namespace espalier
