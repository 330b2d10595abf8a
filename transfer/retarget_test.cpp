#include "espalier/transfer/retarget.h"

#include <algorithm>

#include "espalier/transfer/test_support.h"

namespace espalier {
namespace {

constexpr const char* kMatmul = "matmul:m=128,n=512,k=256,weights=constant,epilogue=bias+relu";
constexpr const char* kConv1x1 = "conv2d:n=1,h=28,w=28,ci=64,co=96,k=1,epilogue=bias+relu";
constexpr const char* kConv3x3 = "conv2d:n=1,h=28,w=28,ci=64,co=96,k=3,p=1,epilogue=bias+relu";
constexpr const char* kBareConv3x3 = "conv2d:n=1,h=28,w=28,ci=64,co=96,k=3,p=1";

// A product in BLIS order, written by hand.
constexpr const char* kPlainMatmul = "matmul:m=96,n=128,k=256";
constexpr const char* kBlisTrace =
    "Y: split j -> j.0 j.1 j.2 by 4 16\n"
    "Y: split k -> k.0 k.1 by 128\n"
    "Y: split i -> i.0 i.1 i.2 by 4 6\n"
    "Y: reorder j.0 k.0 i.0 j.1 i.1 k.1 i.2 j.2\n"
    "Y: parallel i.0\n"
    "Y: cache_read 1 at k.0 layout [j.1, k.1, j.2] -> B.pack\n"
    "B.pack: vectorize j.2\n"
    "Y: cache_write at i.1 -> Y.acc\n"
    "Y.acc: unroll i.2\n"
    "Y.acc: vectorize j.2\n"
    "Y.acc: registers\n"
    "Y: unroll i.2.w\n"
    "Y: vectorize j.2.w\n";

Retargeted moved(const Task& donor, std::string_view trace, const Task& target,
                 const RetargetOptions& options = {}) {
  const Match m = match(donor.dag, target.dag);
  EXPECT_TRUE(m.ok()) << explain(m.reason(), donor.dag, target.dag);
  const Trace steps = parse_trace(trace, donor).value();
  RetargetResult r = retarget(m.map(), donor, steps, target, options);
  EXPECT_TRUE(r.ok()) << explain(r.failure(), donor, steps);
  Retargeted result = r.take();
  EXPECT_TRUE(replay(target, result.candidate).ok());
  return result;
}

std::string moved_text(const Task& donor, std::string_view trace, const Task& target,
                       const RetargetOptions& options = {}) {
  return to_string(moved(donor, trace, target, options).candidate.trace(), target);
}

std::string default_text(const Task& task) {
  return to_string(default_candidate(task).trace(), task);
}

bool has_fate(const Retargeted& r, StepFate fate, FateReason reason) {
  return std::any_of(r.steps.begin(), r.steps.end(),
                     [&](const StepReport& s) { return s.fate == fate && s.reason == reason; });
}

TEST(Retarget, TheIdentityChangesNothing) {
  for (const char* spec : {kMatmul, kConv1x1, kConv3x3, kBareConv3x3, "softmax:rows=64,cols=100",
                           "layer_norm:rows=64,cols=100", "max_pool2d:n=1,h=28,w=28,c=64,k=3,s=2",
                           "global_avg_pool2d:n=1,h=7,w=7,c=64", "transpose:shape=64x96,perm=1x0",
                           "depthwise_conv2d:n=1,h=28,w=28,c=64,k=3,p=1"}) {
    for (int threads : {1, 2}) {
      const Task task = task_of(spec, threads);
      EXPECT_EQ(moved_text(task, default_text(task), task), default_text(task)) << spec;
    }
  }
  const Task task = task_of(kPlainMatmul, 2);
  EXPECT_EQ(moved_text(task, kBlisTrace, task), kBlisTrace);
}

TEST(Retarget, NumbersBecomeSlotsThatStayTied) {
  const Task donor = task_of(kConv3x3, 2);
  const Task target = task_of("conv2d:n=1,h=14,w=14,ci=64,co=40,k=3,p=1,epilogue=bias+relu", 2);
  const Retargeted r = moved(donor, default_text(donor), target);
  ASSERT_FALSE(r.candidate.decisions.empty());
  // Panels of weights are as wide as the tile whatever the search does with it.
  Candidate changed = r.candidate;
  for (size_t i = 0; i < changed.decisions.size(); ++i) {
    if (changed.sketch->slots[i].kind == SlotKind::Vector) changed.decisions[i] = 8;
  }
  const std::string text = to_string(changed.trace(), target);
  EXPECT_NE(text.find("outer 8"), std::string::npos) << text;
  EXPECT_NE(text.find("inner 8"), std::string::npos) << text;
}

TEST(Retarget, AMatmulsRowsAreAnImagesPixels) {
  const Task donor = task_of(kMatmul, 1), target = task_of(kConv1x1, 1);
  const Retargeted r = moved(donor, default_text(donor), target);
  EXPECT_TRUE(has_fate(r, StepFate::Mended, FateReason::FusedFirst));
  const std::string text = to_string(r.candidate.trace(), target);
  EXPECT_NE(text.find("fuse h w -> h_w"), std::string::npos) << text;
  EXPECT_NE(text.find("conv: registers"), std::string::npos) << text;
}

TEST(Retarget, OrTheInnermostStandsForThem) {
  const Task donor = task_of(kMatmul, 1), target = task_of(kConv1x1, 1);
  RetargetOptions options;
  options.fuse_groups = false;
  const Retargeted r = moved(donor, default_text(donor), target, options);
  EXPECT_TRUE(has_fate(r, StepFate::Mended, FateReason::InnerOfGroup));
  EXPECT_EQ(to_string(r.candidate.trace(), target).find("fuse h w"), std::string::npos);
}

TEST(Retarget, WindowsGoAroundTheChannels) {
  const Task donor = task_of(kMatmul, 1), target = task_of(kConv3x3, 1);
  const std::string text = moved_text(donor, default_text(donor), target);
  EXPECT_NE(text.find("kh kw ci"), std::string::npos) << text;
  EXPECT_NE(text.find("dim 0, dim 1, dim 2"), std::string::npos) << text;
}

TEST(Retarget, WithoutItsEpilogueTheAnchorGetsAccumulators) {
  const Task donor = task_of(kConv3x3, 1), target = task_of(kBareConv3x3, 1);
  const Retargeted r = moved(donor, default_text(donor), target);
  EXPECT_TRUE(has_fate(r, StepFate::Mended, FateReason::AsAccumulator));
  const std::string text = to_string(r.candidate.trace(), target);
  EXPECT_NE(text.find("Y.acc: registers"), std::string::npos) << text;
}

TEST(Retarget, AnEpilogueThatIsNewRunsAfterEachTile) {
  const Task donor = task_of(kBareConv3x3, 1), target = task_of(kConv3x3, 1);
  const Retargeted r = moved(donor, default_text(donor), target);
  EXPECT_TRUE(has_fate(r, StepFate::Added, FateReason::NotInDonor));
  const std::string text = to_string(r.candidate.trace(), target);
  EXPECT_NE(text.find("Y: compute_after conv"), std::string::npos) << text;
}

TEST(Retarget, ASchedulesOwnOrderGoesAlong) {
  const Task donor = task_of(kPlainMatmul, 2);
  const Task target = task_of("matmul:m=50,n=100,k=300,weights=constant", 2);
  const std::string text = moved_text(donor, kBlisTrace, target);
  EXPECT_NE(text.find("reorder j.0 k.0 i.0 j.1 i.1 k.1 i.2 j.2"), std::string::npos) << text;
  EXPECT_NE(text.find("cache_read 1 at k.0"), std::string::npos) << text;
}

TEST(Retarget, WhatIsNoConstantIsPackedInEachCall) {
  const Task donor = task_of("matmul:m=64,n=64,k=64,weights=constant", 1);
  const Task target = task_of("matmul:m=64,n=64,k=64", 1);
  const Retargeted r = moved(donor, default_text(donor), target);
  EXPECT_TRUE(has_fate(r, StepFate::Mended, FateReason::PackedEachCall));
  EXPECT_NE(to_string(r.candidate.trace(), target).find("cache_read 1 at root"), std::string::npos);
}

TEST(Retarget, OneThreadSharesNothing) {
  const Task donor = task_of(kConv3x3, 2), target = task_of(kConv3x3, 1);
  const Retargeted r = moved(donor, default_text(donor), target);
  EXPECT_TRUE(has_fate(r, StepFate::Dropped, FateReason::OneThread));
}

TEST(Retarget, ThreadsThatTheDonorLackedGetWork) {
  const Task donor = task_of(kConv3x3, 1), target = task_of(kConv3x3, 2);
  const Retargeted r = moved(donor, default_text(donor), target);
  EXPECT_TRUE(has_fate(r, StepFate::Added, FateReason::Threads));
  EXPECT_NE(to_string(r.candidate.trace(), target).find(": parallel "), std::string::npos);
}

// Half a megabyte of weights, which the stage itself reads through a copy and accumulators.
TEST(Retarget, ThreadsShareWhatIsWorthItForWhatIsReadInside) {
  const char* spec = "conv2d:n=1,h=1,w=1,ci=68,co=1632,k=1,epilogue=bias+sigmoid";
  const Task donor = task_of(spec, 1), target = task_of(spec, 2);
  ASSERT_NE(default_text(target).find(": parallel "), std::string::npos);
  EXPECT_NE(moved_text(donor, default_text(donor), target).find(": parallel "), std::string::npos);
}

TEST(Retarget, WiderVectorsGetAnotherTile) {
  const Task donor = task_of(kConv3x3, 1, false), target = task_of(kConv3x3, 1, true);
  const Retargeted r = moved(donor, default_text(donor), target);
  for (const FactorReport& f : r.factors) {
    if (f.factor.use == FactorUse::Vector) {
      EXPECT_EQ(f.factor.target % 16, 0);
    }
  }
  EXPECT_NE(to_string(r.candidate.trace(), target).find("conv: registers"), std::string::npos);
}

TEST(Retarget, NarrowerRegistersHoldTheTile) {
  const Task donor = task_of(kConv3x3, 1, true), target = task_of(kConv3x3, 1, false);
  EXPECT_NE(moved_text(donor, default_text(donor), target).find("conv: registers"),
            std::string::npos);
}

TEST(Retarget, WithoutRefitNumbersStay) {
  const Task donor = task_of(kMatmul, 1);
  const Task target = task_of("matmul:m=7,n=49,k=33,weights=constant,epilogue=bias+relu", 1);
  RetargetOptions options;
  options.refit = false;
  for (const FactorReport& f : moved(donor, default_text(donor), target, options).factors) {
    EXPECT_EQ(f.factor.target, f.factor.donor);
    EXPECT_EQ(f.factor.rule, RefitRule::Kept);
  }
}

TEST(Retarget, EveryStepHasItsFate) {
  const Task donor = task_of(kConv3x3, 2), target = task_of(kMatmul, 2);
  const Trace trace = default_candidate(donor).trace();
  const Retargeted r = moved(donor, to_string(trace, donor), target);
  std::vector<bool> told(trace.size(), false);
  size_t steps = 0;
  for (const StepReport& s : r.steps) {
    if (s.donor_step >= 0) told[static_cast<size_t>(s.donor_step)] = true;
    EXPECT_EQ(s.first, static_cast<int>(steps)) << "reports cover the steps in order";
    steps += static_cast<size_t>(s.count);
  }
  EXPECT_EQ(std::count(told.begin(), told.end(), false), 0);
  EXPECT_EQ(steps, r.candidate.sketch->steps.size());
}

TEST(Retarget, ATraceOfAnotherProgramIsTheDonorsFault) {
  const Task donor = task_of(kMatmul, 1);
  const RetargetResult r =
      retarget(identity_map(donor.dag), donor, {SplitStep{40, 0, {{4, -1}}}}, donor);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.failure().kind, RetargetFailure::Kind::DonorTrace);
}

}  // namespace
}  // namespace espalier
