#include "espalier/schedule/nest.h"

#include <gmock/gmock.h>

#include <sstream>

#include "espalier/schedule/internal/test_programs.h"

namespace espalier {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// docs/steps.md, which a test replays, holds a golden nest for every step.

TEST(Nest, OfAConvolutionIsShort) {
  const State state = state_of(task_of(kConvolution), R"(
    C: split w by 6
    C: split co by 2 8
    C: split ci by 32
    C: reorder n h co.0 w.0 ci.0 kh kw ci.1 w.1 co.1 co.2
    C: fuse n h
    C: cache_write at ci.0
    C.acc: unroll w.1
    C.acc: unroll co.1
    C.acc: vectorize co.2
    C.acc: registers
    C: vectorize co.2.w
    R: compute_after C w.0
    C: parallel n_h
    C.acc: pack_constant 1 layout [dim 3 outer 16, dim 0, dim 1, dim 2, dim 3 inner 16]
  )");
  EXPECT_EQ(print_nest(state), R"(W.pack: f32[4, 3, 3, 64, 16]
C: f32[1, 56, 56, 64]
at bind
  for dim3.0: 4
    for dim0: 3
      for dim1: 3
        for dim2: 64
          for dim3.1: 16
            W.pack = W
for n_h: 56 parallel
  for co.0: 4
    for w.0: 10
      reduce ci.0: 2
        C.acc: f32[6, 2, 8] registers
        reduce kh: 3
          reduce kw: 3
            reduce ci.1: 32
              for w.1: 6 tail 2 unroll
                for co.1: 2 unroll
                  for co.2: 8 vectorize
                    C.acc = sum(X, W.pack)
        for w.1.w: 6 tail 2
          for co.1.w: 2
            for co.2.w: 8 vectorize
              C = sum(C, C.acc)
      for w.1.w: 6 tail 2
        for co.1.w: 2
          for co.2.w: 8
            R = f(C, B) when complete
)");
}

TEST(Nest, StreamsLikeItPrints) {
  const State state = State::initial(task_of(kMatmul));
  std::ostringstream out;
  out << state;
  EXPECT_EQ(out.str(), print_nest(state));
}

TEST(Nest, InlinedStagesAndTheirBuffersAreGone) {
  const State state = state_of(task_of(kMatmul), "P: inline");
  EXPECT_THAT(print_nest(state), Not(HasSubstr("P")));
  EXPECT_THAT(print_nest(state), HasSubstr("C = sum(A, B)"));
}

TEST(Nest, MarksALoop) {
  const State state = state_of(task_of(kMatmul), "C: split j by 8");
  EXPECT_THAT(
      print_nest(state, state.find_stage("C"), state.find_loop(state.find_stage("C"), "j.1")),
      HasSubstr("  for j.0: 6\n    for j.1: 8  <--\n"));
}

TEST(Nest, MarksWhatAConsumedLoopHasBecome) {
  const State state = state_of(task_of(kMatmul), "C: split j by 8\nC: fuse i j.0");
  const StageId c = state.find_stage("C");
  const std::string text = print_nest(state, c, state.find_loop(c, "j"));
  EXPECT_THAT(text, HasSubstr("for i_j.0: 600  <--\n"));
  EXPECT_THAT(text, HasSubstr("for j.1: 8  <--\n"));
}

TEST(Nest, MarksAStatement) {
  const State state = State::initial(task_of(kMatmul));
  EXPECT_THAT(print_nest(state, state.find_stage("R")), HasSubstr("R = f(C)  <--\n"));
}

TEST(Nest, MarksNothingThatIsNotThere) {
  const State state = State::initial(task_of(kMatmul));
  EXPECT_EQ(print_nest(state, 99, 3), print_nest(state));
}

struct Tails {
  const char* name;
  const char* trace;
  std::vector<std::pair<const char*, int64_t>> tails;  // of loops of C
};
class TailExtent : public ::testing::TestWithParam<Tails> {};

TEST_P(TailExtent, IsWhatTheLastTileHas) {
  const State state = state_of(task_of(kMatmul), GetParam().trace);
  const StageId c = state.find_stage("C");
  for (const auto& [loop, tail] : GetParam().tails) {
    EXPECT_EQ(tail_extent(state.stage(c), state.find_loop(c, loop)), tail) << loop;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Splits, TailExtent,
    ::testing::Values(
        Tails{"axis", "", {{"i", 0}}}, Tails{"even", "C: split i by 10", {{"i.0", 0}, {"i.1", 0}}},
        Tails{"uneven", "C: split i by 16", {{"i.0", 0}, {"i.1", 4}}},
        Tails{"two_levels", "C: split i by 4 8", {{"i.0", 0}, {"i.1", 1}, {"i.2", 4}}},
        Tails{"factor_beyond_the_extent", "C: split i by 128", {{"i.0", 0}, {"i.1", 100}}},
        Tails{
            "split_of_a_tile", "C: split i by 16\nC: split i.1 by 4", {{"i.1.0", 1}, {"i.1.1", 0}}},
        Tails{"split_of_a_tile_unevenly",
              "C: split i by 16\nC: split i.1 by 3",
              {{"i.1.0", 2}, {"i.1.1", 1}}},
        Tails{"reducing_partial_results",
              "C: split k by 5\nC: rfactor k.1",
              {{"k.1", 4}, {"k.1.r", 0}}},
        Tails{"writing_back",
              "C: split i by 16\nC: reorder i.0 j i.1 k\nC: cache_write at j",
              {{"i.1.w", 4}}},
        Tails{"fused", "C: fuse i j\nC: split i_j by 7", {{"i_j.1", 5}}}),
    [](const auto& info) { return info.param.name; });

TEST(Nest, ScalarsAndEmptyExtentsPrint) {
  const Task task = task_of("A = placeholder f32[0]\nS[] = sum[k: 0](A[k])\nreturn S\n");
  EXPECT_EQ(print_nest(State::initial(task)), "reduce k: 0\n  S = sum(A)\n");
}

}  // namespace
}  // namespace espalier
