#include "espalier/schedule/step.h"

#include <gtest/gtest.h>

#include <set>

namespace espalier {
namespace {

const Num kOne{1, -1}, kTwo{2, -1};

// One of each kind, no two fields of a step equal.
std::vector<Step> one_of_each() {
  using K = LayoutEntry::Kind;
  const std::vector<LayoutEntry> layout = {
      {K::DimOuter, 0, kTwo}, {K::Loop, 3, {}}, {K::DimInner, 0, kTwo}, {K::Dim, 1, {}}};
  return {SplitStep{2, 1, {kOne, kTwo}},
          FuseStep{2, {0, 1}},
          ReorderStep{2, {1, 0}},
          AnnotateStep{2, 1, Annotation::Unroll, kTwo},
          ComputeAtStep{1, 2, 3},
          ComputeRootStep{1},
          ComputeAfterStep{3, 2, 1},
          StoreAtStep{1, 2, 0},
          ShareStep{2, 3},
          InlineStep{1},
          CacheWriteStep{2, 1},
          CacheReadStep{2, 1, 0, layout},
          PackConstantStep{2, 1, layout},
          RfactorStep{2, {3, 4}},
          PadStep{2, 0, kTwo}};
}

// Changes the field number `which`; counts the fields when there are fewer.
struct Changer : StepVisitor {
  int which, seen = 0;
  explicit Changer(int w) : which(w) {}
  template <class T>
  void change(T& x) {
    if (seen++ == which) x = static_cast<T>(x + 17);
  }
  void stage(StageId& s) { change(s); }
  void loop(StageId, LoopId& l) { change(l); }
  void read(StageId, int16_t& r) { change(r); }
  void dim(StageId, int16_t, int16_t& d) { change(d); }
  void num(Num& n) {
    change(n.value);
    change(n.slot);
  }
};

TEST(Step, EveryKindHasItsOwnName) {
  std::set<std::string_view> names;
  for (const Step& s : one_of_each()) names.insert(name_of(s));
  EXPECT_EQ(names.size(), std::variant_size_v<Step>);
}

TEST(Step, EveryAnnotationHasItsOwnName) {
  std::set<std::string_view> names;
  for (Annotation a : kAnnotations) names.insert(name_of(a));
  EXPECT_EQ(names.size(), static_cast<size_t>(Annotation::Registers) + 1);
}

TEST(Step, EveryFieldCountsForEqualityAndHash) {
  for (const Step& step : one_of_each()) {
    std::set<uint64_t> hashes = {hash_of(step)};
    Changer count(-1);
    Step copy = step;
    visit_fields(copy, count);
    EXPECT_EQ(copy, step);
    for (int field = 0; field < count.seen; ++field) {
      Step changed = step;
      Changer changer(field);
      visit_fields(changed, changer);
      EXPECT_FALSE(changed == step) << name_of(step) << ", field " << field;
      EXPECT_TRUE(hashes.insert(hash_of(changed)).second) << name_of(step) << ", field " << field;
    }
  }
}

TEST(Step, KindsOfEqualContentDiffer) {
  EXPECT_FALSE(Step(ComputeRootStep{1}) == Step(InlineStep{1}));
  EXPECT_NE(hash_of(ComputeRootStep{1}), hash_of(InlineStep{1}));
  EXPECT_NE(hash_of(ComputeAtStep{1, 2, 3}), hash_of(StoreAtStep{1, 2, 3}));
}

TEST(Step, LayoutKindsDiffer) {
  using K = LayoutEntry::Kind;
  const Step loop = CacheReadStep{2, 1, 0, {{K::Loop, 1, {}}}};
  const Step dim = CacheReadStep{2, 1, 0, {{K::Dim, 1, {}}}};
  EXPECT_FALSE(loop == dim);
  EXPECT_NE(hash_of(loop), hash_of(dim));
}

TEST(Step, WhatHasNoMeaningDoesNotCount) {
  const std::pair<Step, Step> equal[] = {
      {StoreAtStep{1, 2, kNoLoop}, StoreAtStep{1, 3, kNoLoop}},
      {AnnotateStep{1, 2, Annotation::Parallel, kTwo},
       AnnotateStep{1, 2, Annotation::Parallel, {}}},
      {AnnotateStep{1, 2, Annotation::Registers}, AnnotateStep{1, 0, Annotation::Registers}},
  };
  for (const auto& [a, b] : equal) {
    EXPECT_EQ(a, b);
    EXPECT_EQ(hash_of(a), hash_of(b)) << name_of(a);
  }
}

TEST(Step, NumbersAreVisitedInOrder) {
  std::vector<int64_t> values;
  for (const Step& s : one_of_each()) {
    for_each_num(s, [&](const Num& n) { values.push_back(n.value); });
  }
  // split, unroll, the blocks of two layouts, pad
  EXPECT_EQ(values, (std::vector<int64_t>{1, 2, 2, 2, 2, 2, 2, 2}));
}

TEST(Step, NumbersCanBeWritten) {
  SplitStep split{0, 0, {Num::of_slot(0), kTwo}};
  for_each_num(split, [](Num& n) {
    if (n.slot == 0) n = {7, -1};
  });
  EXPECT_EQ(split, (SplitStep{0, 0, {Num{7, -1}, kTwo}}));
}

TEST(Step, HashWithDecisionsIsThatOfTheFilledStep) {
  const std::vector<int32_t> decisions = {7};
  const Step open = SplitStep{0, 0, {Num::of_slot(0), kTwo}};
  EXPECT_EQ(hash_of(open, decisions), hash_of(SplitStep{0, 0, {Num{7, -1}, kTwo}}));
  EXPECT_NE(hash_of(open), hash_of(open, decisions));
}

TEST(Step, LoopsAreVisitedWithTheStageTheyBelongTo) {
  struct Owners : StepVisitor {
    std::vector<StageId> owners;
    void loop(StageId of, LoopId) { owners.push_back(of); }
  } v;
  const Step attach = ComputeAtStep{1, 2, 3}, factor = RfactorStep{5, {3, 4}};
  visit_fields(attach, v);
  visit_fields(factor, v);
  EXPECT_EQ(v.owners, (std::vector<StageId>{2, 5, 5}));
}

}  // namespace
}  // namespace espalier
