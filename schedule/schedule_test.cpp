#include "espalier/schedule/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "espalier/schedule/internal/test_programs.h"

namespace espalier {
namespace {

using testing::HasSubstr;

// The methods give the state that the text gives.
template <class F>
void expect_same(std::string_view program, F steps, std::string_view text) {
  const Task task = task_of(program);
  Schedule s(task);
  steps(s);
  const Result<State> made = s.finish();
  ASSERT_TRUE(made.ok()) << to_string(made.error());
  const State expected = state_of(task, text);
  EXPECT_EQ(to_string(made->trace(), task), to_string(expected.trace(), task));
  EXPECT_EQ(print_nest(*made), print_nest(expected));
}

std::string error_of(const Schedule& s) {
  const Result<State> made = s.finish();
  return made.ok() ? "" : to_string(made.error());
}

TEST(Schedule, Split) {
  expect_same(kMatmul, [](Schedule& s) { s.split({"C", "j"}, 4, 8); }, "C: split j by 4 8");
}

TEST(Schedule, SplitGivesItsPartsOutermostFirst) {
  Schedule s(task_of(kMatmul));
  const auto [a, b, c] = s.split(s.loop("C", "j"), 4, 8);
  const State state = s.finish().value();
  EXPECT_EQ(state.loop_name(a.stage, a.id), "j.0");
  EXPECT_EQ(state.loop_name(b.stage, b.id), "j.1");
  EXPECT_EQ(state.loop_name(c.stage, c.id), "j.2");
}

TEST(Schedule, FuseGivesTheLoopItMade) {
  expect_same(
      kMatmul,
      [](Schedule& s) {
        const LoopHandle both = s.fuse({{"R", "i"}, {"R", "j"}});
        s.split(both, 16);
      },
      "R: fuse i j -> i_j\nR: split i_j by 16");
}

TEST(Schedule, Reorder) {
  expect_same(kMatmul, [](Schedule& s) { s.reorder({{"C", "k"}, {"C", "i"}}); }, "C: reorder k i");
}

TEST(Schedule, Pad) {
  expect_same(kMatmul, [](Schedule& s) { s.pad({"P", "i"}, 8); }, "P: pad i to multiple of 8");
}

TEST(Schedule, AnnotationsOfLoops) {
  expect_same(
      kMatmul,
      [](Schedule& s) {
        s.parallel({"R", "i"});
        s.vectorize({"R", "j"});
        s.unroll({"C", "k"}, 16);
        s.unroll({"C", "j"});
        s.prefetch({"P", "k"}, 4);
        s.partition({"C", "i"});
      },
      "R: parallel i\nR: vectorize j\nC: unroll k max 16\nC: unroll j\nP: prefetch k 4\n"
      "C: partition i");
}

TEST(Schedule, AnnotationsOfStages) {
  expect_same(
      kMatmul,
      [](Schedule& s) {
        s.non_temporal("R");
        const auto [jo, ji] = s.split({"C", "j"}, 4);
        const StageHandle acc = s.cache_write(jo);
        s.unroll(s.loop(acc, ji));
        s.registers(acc);
      },
      "R: non_temporal\nC: split j by 4\nC: cache_write at j.0 -> C.acc\nC.acc: unroll j.1\n"
      "C.acc: registers");
}

TEST(Schedule, ComputeAtAndItsStorage) {
  expect_same(
      kMatmul,
      [](Schedule& s) {
        s.compute_at("P", {"C", "j"});
        s.store_at("P", {"C", "i"});
      },
      "P: compute_at C j\nP: store_at C i");
  expect_same(
      kMatmul,
      [](Schedule& s) {
        s.compute_at("P", {"C", "i"});
        s.store_at_root("P");
      },
      "P: compute_at C i\nP: store_at root");
}

TEST(Schedule, ComputeRoot) {
  expect_same(
      kMatmul,
      [](Schedule& s) {
        s.compute_at("P", {"C", "i"});
        s.compute_root("P");
      },
      "P: compute_at C i\nP: compute_root");
}

TEST(Schedule, ComputeAfterAndShare) {
  expect_same(
      kMatmul,
      [](Schedule& s) {
        s.compute_after("R", {"C", "i"});
        s.share("C", "R");
      },
      "R: compute_after C i\nC: share R");
}

TEST(Schedule, Inline) {
  expect_same(kMatmul, [](Schedule& s) { s.inline_stage("P"); }, "P: inline");
}

TEST(Schedule, CacheWriteAtRoot) {
  expect_same(kMatmul, [](Schedule& s) { s.cache_write_at_root("C"); }, "C: cache_write at root");
}

TEST(Schedule, CacheRead) {
  expect_same(
      kMatmul,
      [](Schedule& s) {
        const auto [jo, ji] = s.split({"C", "j"}, 8);
        const LoopHandle k = s.loop("C", "k");
        s.reorder({jo, {"C", "i"}, k, ji});
        const StageHandle copy = s.cache_read(1, jo, {k, ji});
        s.vectorize({copy, "j.1"});
      },
      "C: split j by 8\nC: reorder j.0 i k j.1\nC: cache_read 1 at j.0 layout [k, j.1] -> B.pack\n"
      "B.pack: vectorize j.1");
  expect_same(
      kMatmul,
      [](Schedule& s) { s.cache_read_at_root("C", 0, {LayoutRef::dim(1), LayoutRef::dim(0)}); },
      "C: cache_read 0 at root layout [dim 1, dim 0]");
}

TEST(Schedule, PackConstant) {
  expect_same(
      kMatmul,
      [](Schedule& s) {
        s.pack_constant("C", 1,
                        {LayoutRef::outer(1, 8), LayoutRef::dim(0), LayoutRef::inner(1, 8)});
      },
      "C: pack_constant 1 layout [dim 1 outer 8, dim 0, dim 1 inner 8]");
}

TEST(Schedule, Rfactor) {
  expect_same(
      kMatmul,
      [](Schedule& s) {
        const auto [ko, ki] = s.split({"C", "k"}, 8);
        const StageHandle part = s.rfactor({ki});
        s.reorder({s.loop(part, ki), s.loop(part, ko)});
      },
      "C: split k by 8\nC: rfactor k.1 -> C.part\nC.part: reorder k.1 k.0");
}

TEST(Schedule, TensorsNameTheirStages) {
  const Tensor a = placeholder("A", {8});
  const Tensor b = compute("B", {8}, [&](Var i) { return a(i) + 1.0f; });
  Schedule s(ComputeDag::make({b}).value());
  s.split(s.loop(b, "i"), 4);
  EXPECT_THAT(print_nest(s.finish().value()), HasSubstr("for i.0: 2"));
}

TEST(Schedule, TheFirstErrorStaysAndNothingFollowsIt) {
  Schedule s(task_of(kMatmul));
  s.split({"C", "i"}, 4);
  const auto [a, b] = s.split({"C", "x"}, 4);
  s.vectorize(b);
  s.split({"nowhere", "i"}, 2);
  EXPECT_THAT(error_of(s), HasSubstr("no loop of C named 'x'; there are: i.0, i.1, j, k"));
  EXPECT_EQ(s.state().trace().size(), 1u);
}

TEST(Schedule, AStepThatDoesNotApplyIsExplainedWithItsNest) {
  Schedule s(task_of(kMatmul));
  s.split({"C", "i"}, 4);
  s.parallel({"C", "k"});
  EXPECT_THAT(error_of(s), HasSubstr("step 1: 'C: parallel k' does not apply"));
  EXPECT_THAT(error_of(s), HasSubstr("reduce k: 64"));
}

TEST(Schedule, UnknownStagesAreNamed) {
  Schedule s(task_of(kMatmul));
  s.inline_stage("Q");
  EXPECT_THAT(error_of(s), HasSubstr("no stage named 'Q'; there are: A, P, B, C, R"));
}

TEST(Schedule, LoopsOfTwoStagesDoNotMix) {
  Schedule s(task_of(kMatmul));
  s.reorder({{"C", "i"}, {"R", "j"}});
  EXPECT_THAT(error_of(s), HasSubstr("loops of one stage"));
}

}  // namespace
}  // namespace espalier
