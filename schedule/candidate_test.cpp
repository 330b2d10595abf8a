#include "espalier/schedule/candidate.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

// split by d0 d1 2, unroll up to d2
Candidate open_candidate(std::vector<int32_t> decisions) {
  auto sketch = std::make_shared<Sketch>();
  sketch->steps = {
      SplitStep{1, 0, {Num::of_slot(0), Num::of_slot(1), Num{2, -1}}},
      AnnotateStep{1, 3, Annotation::Unroll, Num::of_slot(2)},
  };
  sketch->slots = {{SlotKind::Tile}, {SlotKind::Register}, {SlotKind::Unroll}};
  return {sketch, std::move(decisions)};
}

TEST(Candidate, TraceHasTheNumbersFilledIn) {
  const Trace expected = {
      SplitStep{1, 0, {Num{4, -1}, Num{8, -1}, Num{2, -1}}},
      AnnotateStep{1, 3, Annotation::Unroll, Num{16, -1}},
  };
  EXPECT_EQ(open_candidate({4, 8, 16}).trace(), expected);
}

TEST(Candidate, HashIsThatOfTheFilledTrace) {
  const Candidate candidate = open_candidate({4, 8, 16});
  EXPECT_EQ(candidate.hash(), make_candidate(candidate.trace()).hash());
}

TEST(Candidate, SketchesThatFillToOneTraceHashAlike) {
  const Candidate candidate = open_candidate({4, 8, 16});
  auto other = std::make_shared<Sketch>(*candidate.sketch);
  std::get<SplitStep>(other->steps[0]).factors[0] = Num{4, -1};
  std::get<SplitStep>(other->steps[0]).factors[1] = Num::of_slot(0);
  std::get<AnnotateStep>(other->steps[1]).arg = Num::of_slot(1);
  other->slots.pop_back();
  EXPECT_EQ((Candidate{other, {8, 16}}).hash(), candidate.hash());
  EXPECT_NE(other->hash(), candidate.sketch->hash());
}

TEST(Candidate, EveryDecisionCountsForTheHash) {
  const uint64_t hash = open_candidate({4, 8, 16}).hash();
  EXPECT_NE(open_candidate({5, 8, 16}).hash(), hash);
  EXPECT_NE(open_candidate({4, 9, 16}).hash(), hash);
  EXPECT_NE(open_candidate({4, 8, 0}).hash(), hash);
  EXPECT_NE(open_candidate({8, 4, 16}).hash(), hash);
}

TEST(Candidate, GroupedSlotsAreFilledAlike) {
  auto sketch = std::make_shared<Sketch>();
  sketch->steps = {SplitStep{0, 0, {Num::of_slot(0)}}, SplitStep{1, 0, {Num::of_slot(0)}}};
  sketch->slots = {{SlotKind::Tile}};
  const Trace expected = {SplitStep{0, 0, {Num{6, -1}}}, SplitStep{1, 0, {Num{6, -1}}}};
  EXPECT_EQ((Candidate{sketch, {6}}).trace(), expected);
}

TEST(Sketch, HashCountsTheKindsOfSlots) {
  Sketch a = *open_candidate({}).sketch, b = a;
  EXPECT_EQ(a.hash(), b.hash());
  b.slots[0].kind = SlotKind::Vector;
  EXPECT_NE(a.hash(), b.hash());
}

TEST(Candidate, WithoutASketchIsTheEmptySchedule) {
  EXPECT_TRUE(Candidate().trace().empty());
  EXPECT_EQ(Candidate().hash(), make_candidate({}).hash());
}

}  // namespace
}  // namespace espalier
