#include "espalier/schedule/text.h"

#include <gmock/gmock.h>

#include "espalier/schedule/internal/test_programs.h"

namespace espalier {
namespace {

using ::testing::HasSubstr;

struct RoundTrip {
  const char* name;
  std::string_view dag;
  std::string_view trace;
};

// At least one a kind of step, in the form that to_string gives.
const RoundTrip kRoundTrips[] = {
    {"empty", kMatmul, ""},
    {"split", kMatmul, "C: split j -> j.0 j.1 j.2 by 4 32\nC: split j.0 -> j.0.0 j.0.1 by 3\n"},
    {"fuse", kMatmul, "C: fuse i j -> i_j\nR: fuse i j -> i_j\n"},
    {"reorder", kMatmul, "C: reorder k i\n"},
    {"parallel", kMatmul, "C: parallel i\n"},
    {"vectorize", kMatmul, "R: vectorize j\n"},
    {"unroll", kMatmul, "C: unroll k\nC: unroll j max 16\n"},
    {"prefetch", kMatmul, "C: prefetch k 8\n"},
    {"partition", kMatmul, "C: partition i\n"},
    {"non_temporal", kMatmul, "R: non_temporal\n"},
    {"registers", kMatmul,
     "C: split j -> j.0 j.1 by 8\nC: cache_write at j.0 -> C.acc\nC.acc: vectorize j.1\n"
     "C.acc: registers\n"},
    {"compute_at", kMatmul, "C: compute_at R j\nP: compute_at C i\n"},
    {"compute_root", kMatmul, "C: compute_at R j\nC: compute_root\n"},
    {"compute_after", kMatmul, "C: split i -> i.0 i.1 by 10\nR: compute_after C i.0\n"},
    {"store_at", kMatmul, "P: compute_at C j\nP: store_at C i\n"},
    {"store_at_root", kMatmul, "P: compute_at C j\nP: store_at root\n"},
    {"share", kMatmul, "C: share R\n"},
    {"inline", kMatmul, "P: inline\n"},
    {"cache_write", kMatmul,
     "C: cache_write at i -> C.acc\nC.acc: reorder k j\nC: vectorize j.w\n"},
    {"cache_write_at_root", kMatmul,
     "C: cache_write at root -> C.acc\nC: split i.w -> i.w.0 i.w.1 by 8\n"},
    {"cache_read", kMatmul,
     "C: split j -> j.0 j.1 by 16\nC: reorder i j.0 k j.1\nC: cache_read 1 at j.0 layout [k, j.1] "
     "-> B.pack\n"
     "C: cache_read 0 at root layout [dim 1, dim 0] -> P.pack\nP.pack: reorder dim0 dim1\n"},
    {"pack_constant", kConvolution,
     "C: pack_constant 1 layout [dim 3 outer 16, dim 0, dim 1, dim 2, dim 3 inner 16] -> W.pack\n"
     "W.pack: reorder dim3.1 dim3.0\n"},
    {"rfactor", kMatmul,
     "C: split k -> k.0 k.1 k.2 by 4 8\nC: rfactor k.1 k.2 -> C.part\nC.part: vectorize k.2\n"
     "C: unroll k.2.r\n"},
    {"pad", kMatmul, "C: pad i to multiple of 8\n"},
    {"convolution", kConvolution,
     "C: split w -> w.0 w.1 by 6\nC: split co -> co.0 co.1 co.2 by 2 8\nC: split ci -> ci.0 ci.1 "
     "by 32\n"
     "C: reorder n h co.0 w.0 ci.0 kh kw ci.1 w.1 co.1 co.2\nC: fuse n h -> n_h\n"
     "C: cache_write at w.0 -> C.acc\nC.acc: unroll w.1\nC.acc: unroll co.1 max 4\n"
     "C.acc: vectorize co.2\nC.acc: registers\nC.acc: unroll kw\nC: vectorize co.2.w\n"
     "R: compute_after C w.0\nC: store_at C w.0\nC: parallel n_h\n"
     "C.acc: pack_constant 1 layout [dim 3 outer 16, dim 0, dim 1, dim 2, dim 3 inner 16] -> "
     "W.pack\n"
     "C.acc: cache_read 0 at ci.0 layout [kh, dim 2, ci.1] -> X.pack\n"},
};

class TraceText : public ::testing::TestWithParam<RoundTrip> {};

TEST_P(TraceText, ParsesBackToTheSame) {
  const Task task = task_of(GetParam().dag);
  const Result<Trace> trace = parse_trace(GetParam().trace, task);
  ASSERT_TRUE(trace.ok()) << to_string(trace.error());
  EXPECT_EQ(to_string(*trace, task), GetParam().trace);
}

INSTANTIATE_TEST_SUITE_P(Steps, TraceText, ::testing::ValuesIn(kRoundTrips),
                         [](const auto& info) { return info.param.name; });

TEST(TraceText, RoundTripsCoverEveryStep) {
  std::string all;
  for (const RoundTrip& r : kRoundTrips) all += r.trace;
  for (Annotation a : kAnnotations) EXPECT_THAT(all, HasSubstr(name_of(a)));
  const auto verb = [&]<class S>(std::type_identity<S>) {
    if (S::kName != AnnotateStep::kName) {
      EXPECT_THAT(all, HasSubstr(S::kName));
    }
  };
  [&]<size_t... I>(std::index_sequence<I...>) {
    (verb(std::type_identity<std::variant_alternative_t<I, Step>>()), ...);
  }(std::make_index_sequence<std::variant_size_v<Step>>());
}

TEST(TraceText, NamesBehindTheArrowMayBeLeftOut) {
  const Task task = task_of(kMatmul);
  EXPECT_EQ(parse_trace("C: split j by 4 32", task).value(),
            parse_trace("C: split j -> j.0 j.1 j.2 by 4 32\n", task).value());
}

TEST(TraceText, BlankLinesAndCommentsAreSkipped) {
  const Task task = task_of(kMatmul);
  EXPECT_EQ(parse_trace("\n# tiles\n\n  C: split j by 4   # four\n\n", task).value(),
            parse_trace("C: split j by 4", task).value());
}

struct Malformed {
  const char* name;
  std::string_view trace;
  const char* message;
  ErrorCode code = ErrorCode::Parse;
};
const Malformed kMalformed[] = {
    {"unknown_stage", "\n  D: inline",
     "line 2, column 3: no stage named 'D'; there are: A, P, B, C, R", ErrorCode::NotFound},
    {"unknown_loop", "C: split j by 4\nC: split q by 4",
     "line 2, column 10: no loop of C named 'q'; there are: i, j.0, j.1, k", ErrorCode::NotFound},
    {"unknown_step", "C: tile i", "line 1, column 4: no step named 'tile'; there are: split, fuse",
     ErrorCode::NotFound},
    {"annotate_is_no_step", "C: annotate i", "no step named 'annotate'", ErrorCode::NotFound},
    {"slot", "C: split j by d0", "'d0' is a decision that a sketch leaves open"},
    {"factor_zero", "C: split j by 0",
     "column 15: 0 is out of range; it must be from 1 to 1099511627776", ErrorCode::OutOfRange},
    {"factor_negative", "C: split j by -4", "-4 is out of range", ErrorCode::OutOfRange},
    {"factor_large", "C: split j by 1099511627777", "1099511627777 is out of range",
     ErrorCode::OutOfRange},
    {"factor_huge", "C: split j by 99999999999999999999", "column 15"},
    {"factor_missing", "C: split j by", "column 14"},
    {"factor_float", "C: split j by 4.5", "column 15"},
    {"read_large", "C: cache_read 40000 at root layout [dim 0]", "40000 is out of range",
     ErrorCode::OutOfRange},
    {"made_name", "C: split j -> j.0 j.9 by 4",
     "column 19: 'j.9' behind '->', but the step makes j.0, j.1"},
    {"made_count", "C: split j -> j.0 by 4", "1 names behind '->', but the step makes 2: j.0, j.1"},
    {"made_stage", "C: cache_write at i -> C.local",
     "'C.local' behind '->', but the step makes C.acc"},
    {"rest_of_line", "C: parallel i j", "column 15: unexpected text after the step"},
    {"two_steps_in_a_line", "P: inline C: parallel i", "unexpected text after the step"},
    {"no_verb", "C:", "expected a step"},
    {"no_colon", "C parallel i", "expected ':', got 'parallel'"},
    {"only_a_number", "17", "expected a stage, got '17'"},
    {"no_loop", "C: parallel\nC: parallel i",
     "line 1, column 12: expected a loop, got the line's end"},
    {"open_layout", "C: cache_read 1 at root layout [dim 0", "expected ']'"},
    {"bad_character", "C: parallel \x01", "line 1, column 13"},
    {"rejected", "C: split j by 4\nC: parallel k",
     "line 2, column 1: 'C: parallel k' does not apply: loop k of C (extent 64) is a reduction "
     "loop",
     ErrorCode::InvalidArgument},
};

class TraceError : public ::testing::TestWithParam<Malformed> {};

TEST_P(TraceError, NamesThePlace) {
  const Result<Trace> trace = parse_trace(GetParam().trace, task_of(kMatmul));
  ASSERT_FALSE(trace.ok());
  EXPECT_THAT(trace.error().message, HasSubstr(GetParam().message));
  EXPECT_EQ(trace.error().code, GetParam().code) << trace.error().message;
}

INSTANTIATE_TEST_SUITE_P(Lines, TraceError, ::testing::ValuesIn(kMalformed),
                         [](const auto& info) { return info.param.name; });

TEST(SketchText, OpenNumbersPrintAsDecisions) {
  const Task task = task_of(kMatmul);
  const StageId c = static_cast<StageId>(task.dag.find("C"));
  Sketch sketch;
  sketch.steps = {SplitStep{c, 1, {Num::of_slot(0), Num{8, -1}}},
                  AnnotateStep{c, 4, Annotation::Unroll, Num::of_slot(1)},
                  SplitStep{c, 0, {Num::of_slot(0)}}};
  sketch.slots = {{SlotKind::Tile}, {SlotKind::Unroll}};
  EXPECT_EQ(to_string(sketch, task),
            "C: split j -> j.0 j.1 j.2 by d0 8\n"
            "C: unroll j.1 max d1\n"
            "C: split i -> i.0 i.1 by d0\n");
}

TEST(SketchText, BlocksOfALayoutCanBeOpen) {
  const Task task = task_of(kConvolution);
  const StageId c = static_cast<StageId>(task.dag.find("C"));
  using K = LayoutEntry::Kind;
  Sketch sketch;
  sketch.steps = {PackConstantStep{c,
                                   1,
                                   {{K::DimOuter, 3, Num::of_slot(0)},
                                    {K::Dim, 0, {}},
                                    {K::Dim, 1, {}},
                                    {K::Dim, 2, {}},
                                    {K::DimInner, 3, Num::of_slot(0)}}}};
  sketch.slots = {{SlotKind::Vector}};
  EXPECT_EQ(to_string(sketch, task),
            "C: pack_constant 1 layout [dim 3 outer d0, dim 0, dim 1, dim 2, dim 3 inner d0] -> "
            "W.pack\n");
}

TEST(TraceText, StepsThatDoNotApplyPrintWhatIsKnown) {
  const Task task = task_of(kMatmul);
  const StageId c = static_cast<StageId>(task.dag.find("C"));
  const Trace trace = {SplitStep{c, 9, {Num{4, -1}}}, ComputeAtStep{c, 40, 2}};
  EXPECT_EQ(to_string(trace, task), "C: split ?9 by 4\nC: compute_at ?40 ?2\n");
}

TEST(TraceText, NamesOfLoopsFusedAgainAndAgainStayShort) {
  const Task task = task_of(kMatmul);
  State state = State::initial(task);
  const StageId c = static_cast<StageId>(task.dag.find("C"));
  LoopId loop = 0;
  for (int round = 0; round < 40; ++round) {
    ASSERT_FALSE(state.apply(SplitStep{c, loop, {Num{2, -1}}}));
    const auto part = static_cast<LoopId>(state.stage(c).loops.size() - 2);
    ASSERT_FALSE(state.apply(FuseStep{c, {part, static_cast<LoopId>(part + 1)}}));
    loop = static_cast<LoopId>(part + 2);
  }
  const std::string text = to_string(state.trace(), task);
  EXPECT_LT(text.size(), 40000u);
  EXPECT_EQ(parse_trace(text, task).value(), state.trace());
}

}  // namespace
}  // namespace espalier
