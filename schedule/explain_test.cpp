#include "espalier/schedule/explain.h"

#include <gmock/gmock.h>

#include <set>

#include "espalier/schedule/internal/test_programs.h"
#include "espalier/schedule/text.h"

namespace espalier {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kProduct = R"(
A = placeholder f32[100, 64]
B = constant f32[64, 48]
C[i: 100, j: 48] = sum[k: 64](A[i, k] * B[k, j])
return C
)";

struct Refused {
  RejectionCode code;
  std::string_view dag;
  std::string_view before;  // steps that apply
  std::string_view step;    // the one that does not
  const char* sentence;
};

const Refused kRefused[] = {
    {RejectionCode::NoSuchStage, kMatmul, "", "A: inline", "A is an input, which has no loops"},
    {RejectionCode::NoSuchStage, kMatmul, "P: inline", "P: parallel i", "P was inlined"},
    {RejectionCode::NoSuchRead, kMatmul, "", "C: cache_read 7 at root layout [dim 0]",
     "C has no read number 7 that is not served from elsewhere already; its reads are 0 (P), 1 "
     "(B)"},
    {RejectionCode::LoopNotLeaf, kMatmul, "C: split j by 4", "C: parallel j",
     "loop j of C has become j.0, j.1; the loops are i, j.0, j.1, k"},
    {RejectionCode::LoopNotLeaf, kMatmul, "C: fuse i j", "C: parallel j",
     "loop j of C has become i_j"},
    {RejectionCode::LoopNotLeaf, kMatmul, "C: cache_write at i", "C: unroll k",
     "loop k is not a loop of C any more; its loops are i, j.w"},
    {RejectionCode::LoopNotLeaf, kMatmul, "C: cache_write at i", "C.acc: unroll i",
     "loop i encloses C.acc, it is a loop of C; the loops of C.acc are j, k"},
    {RejectionCode::LoopNotLeaf, kMatmul, "", "C: reorder i j i",
     "a loop of C is named twice; its loops are i, j, k"},
    {RejectionCode::BadFactor, kMatmul, "", "C: split i by 2147483647 2147483647",
     "factors must be at least 1 and their product at most 2^40; loop i of C (extent 100) got "
     "2147483647"},
    {RejectionCode::BadFactor, kMatmul, "",
     "C: cache_read 1 at root layout [dim 0 outer 4, dim 1, dim 0 inner 8]",
     "the same in the outer and the inner entry of a dimension; there is 8 for a dimension of 64"},
    {RejectionCode::NotAdjacent, kMatmul, "", "C: fuse j i",
     "loop i does not in i, j, k; reorder first"},
    {RejectionCode::NotAdjacent, kMatmul, "", "C: fuse j", "fuse takes at least two loops"},
    {RejectionCode::MixedKinds, kMatmul, "", "C: fuse j k",
     "loop k of C (extent 64) is a reduction loop and the first of the fused ones is not"},
    {RejectionCode::AttachedHere, kMatmul, "P: compute_at C j", "C: reorder j i",
     "P is computed or stored inside loop j of C (extent 48)"},
    {RejectionCode::ReductionLoop, kMatmul, "", "C: parallel k",
     "loop k of C (extent 64) is a reduction loop, whose iterations add to one value; rfactor it "
     "first"},
    {RejectionCode::ReductionLoop, kMatmul,
     "C: reorder k i j\nC: cache_write at i\nR: compute_after C i", "C: store_at C i",
     "the buffer of C cannot lie inside loop k of C (extent 64)"},
    {RejectionCode::AlreadyAnnotated, kMatmul, "R: parallel i", "R: split i by 4",
     "loop i of R (extent 100) is parallel, which does not go with this step"},
    {RejectionCode::NotInlineable, kMatmul, "", "C: inline", "C is a reduction"},
    {RejectionCode::NotInlineable, kMatmul, "", "R: inline", "R is an output"},
    {RejectionCode::NotInlineable, kMatmul, "P: compute_at C i", "P: inline",
     "P is scheduled or rewritten already (it is at loop i of C)"},
    {RejectionCode::NotAttachable, kMatmul, "P: split i by 4", "P: compute_at C i",
     "P must be at root, with its loops untouched and nothing attached inside, when it is "
     "attached; it "
     "is at root; attach first, then split and annotate"},
    {RejectionCode::NotAttachable, kMatmul, "R: vectorize j", "C: compute_at R j",
     "loop j of R (extent 48) is vectorized and lanes have no inside"},
    {RejectionCode::NotAttachable, kMatmul, "", "P: compute_root", "P is at root"},
    {RejectionCode::NotAttachable, kMatmul, "", "P: store_at C i", "P is at root"},
    {RejectionCode::NotAttachable, kMatmul, "P: compute_at C j\nC: parallel i", "P: store_at root",
     "loop i of C (extent 100) is parallel and each of its iterations has a buffer of its own"},
    {RejectionCode::NotAttachable, kMatmul, "P: compute_at C i", "P: pad k to multiple of 8",
     "P is at loop i of C"},
    {RejectionCode::NotAttachable, kMatmul, "", "P: registers",
     "only values that live inside a loop can be registers; P is stored at root"},
    {RejectionCode::NotAttachable, kMatmul, "C: compute_at R i\nC: split j by 8", "C: rfactor k",
     "and loop j of C (extent 48) is not; rfactor before splitting"},
    {RejectionCode::NotEnclosing, kMatmul, "", "P: compute_at R i",
     "loop i of R (extent 100) does not enclose C, which reads P"},
    {RejectionCode::NotEnclosing, kMatmul, "P: compute_at C j", "P: store_at R i",
     "does not enclose"},
    {RejectionCode::NotEnclosing, kMatmul, "P: compute_at C j",
     "C: cache_read 0 at i layout [dim 1]", "the copy needs P complete before it is made"},
    {RejectionCode::NotElementwise, kMatmul, "", "C: compute_after P i",
     "C must read the stage it follows, at its own index alone"},
    {RejectionCode::LayoutIncomplete, kMatmul, "", "C: cache_read 1 at i layout [j]",
     "below loop i of C (extent 100) dimension 0 of the source covers 64 elements"},
    {RejectionCode::LayoutInvalid, kMatmul, "", "C: cache_read 1 at i layout []",
     "a layout needs at least one entry; there is none"},
    {RejectionCode::LayoutInvalid, kMatmul, "", "C: cache_read 1 at i layout [k, j, i]",
     "entry 2 of the layout must be a loop of C below the place of the copy"},
    {RejectionCode::LayoutInvalid, kMatmul, "",
     "C: cache_read 1 at i layout [dim 0 outer 4, dim 1]",
     "dimension 0 must stand in the layout whole, or once as outer and once as inner blocks"},
    {RejectionCode::LayoutInvalid, kMatmul, "C: cache_read 1 at i layout [k, j]",
     "B.pack: cache_read 0 at k layout [j]", "B.pack is a copy itself"},
    {RejectionCode::NotConstant, kMatmul, "", "C: pack_constant 0 layout [dim 0, dim 1]",
     "read 0 of C is of P, which is not a constant and so is not known at bind; use cache_read"},
    {RejectionCode::NotReduction, kMatmul, "", "R: rfactor i", "R must be a reduction"},
    {RejectionCode::NotReduction, kMatmul, "", "C: rfactor i",
     "loop i of C (extent 100) is spatial; the reduction loops are k"},
    {RejectionCode::NotShareable, kMatmul, "", "P: share C",
     "P can live in the buffer of C only if both are at root with equal shape and type"},
    {RejectionCode::NotUnrolled, kMatmul, "C: cache_write at i", "C.acc: registers",
     "every spatial loop of C.acc must be unrolled or vectorized; loop j of C.acc (extent 48) is "
     "not"},
    {RejectionCode::TooManyRegisters, kMatmul, "C: cache_write at i\nC.acc: unroll j",
     "C.acc: registers",
     "the tile of C.acc takes at least 48 vectors, and the target has 16 registers"},
    {RejectionCode::TooMuchCode, kMatmul, "R: fuse i j", "R: unroll i_j",
     "loop i_j of R (extent 4800) would become 4800 copies of its body, and 1024 is the most"},
    {RejectionCode::TooManyLanes, kMatmul, "R: fuse i j", "R: vectorize i_j",
     "loop i_j of R (extent 4800) would be a vector of 4800 lanes, and 4096 is the most"},
    {RejectionCode::TooManyParts, kMatmul, "C: partition i\nC: partition j", "C: partition k",
     "would make 27 copies of the nest, and 9 is the most"},
    {RejectionCode::NotAccumulating, kMatmul, "C: cache_write at i", "C: rfactor j.w",
     "rfactor comes first, then cache_write, each once"},
    {RejectionCode::NotAccumulating, kMatmul,
     "C: split k -> k.0 k.1 by 8\nC: rfactor k.1 -> C.part", "C.part: cache_write at j",
     "loop k.1 of C.part (extent 8) tells the partial results apart"},
    {RejectionCode::NotAccumulating, kMatmul, "C: reorder k i j", "R: compute_after C i",
     "C adds up over loop k of C (extent 64), outside the place to follow"},
    {RejectionCode::IsOutput, kProduct, "", "C: pad i to multiple of 8", "C is an output"},
    {RejectionCode::Overflow,
     "A = placeholder f32[100000, 100000]\nT[i: 100000, j: 100000] = A[j, i]\n"
     "U[i: 100000, j: 100000] = T[i, j]\nreturn U\n",
     "T: split i by 2147483647", "T: cache_read 0 at root layout [i.1, j]", "would be too large"},
};

TEST(Explain, SaysWhatWasExpectedAndWhatWasThere) {
  for (const Refused& r : kRefused) {
    SCOPED_TRACE(r.step);
    const Task task = task_of(r.dag);
    const State state = state_of(task, r.before);
    const Step step = parse_step(r.step, state).value();
    const Replayed after = apply(state, step);
    ASSERT_FALSE(after.ok());
    EXPECT_EQ(name_of(after.rejection().code), name_of(r.code));
    const std::string text = reason(after.rejection(), state, step);
    EXPECT_THAT(text, HasSubstr(r.sentence));
    EXPECT_THAT(text, StartsWith("'" + std::string(r.step) + "' does not apply: "));
  }
}

TEST(Explain, AStageHasSoManyLoopsAndNoMore) {
  const Task task = task_of(kMatmul);
  const State state = State::initial(task);
  const StageId c = state.find_stage("C");
  const Step split = SplitStep{c, 0, std::vector<Num>(1100, Num{1})};
  const Replayed after = apply(state, split);
  ASSERT_FALSE(after.ok());
  EXPECT_THAT(reason(after.rejection(), state, split), HasSubstr("1024 is the most"));
}

// A stage with thousands of reads, each served by a copy.
TEST(Explain, AScheduleHasSoManyStagesAndNoMore) {
  const Tensor x = placeholder("X", {1100});
  const Tensor y = compute("Y", {8}, [&](Var i) {
    std::vector<Expr> terms;
    for (int64_t n = 0; n < 1030; ++n) terms.push_back(x(i + n));
    while (terms.size() > 1) {
      std::vector<Expr> sums;
      for (size_t k = 0; k + 1 < terms.size(); k += 2) sums.push_back(terms[k] + terms[k + 1]);
      if (terms.size() % 2 == 1) sums.push_back(terms.back());
      terms = std::move(sums);
    }
    return terms[0];
  });
  Task task = task_of(kMatmul);
  task.dag = ComputeDag::make({y}).value();
  State state = State::initial(task);
  for (int16_t read = 0;; ++read) {
    const Step copy = CacheReadStep{1, read, kNoLoop, {{LayoutEntry::Kind::Dim, 0}}};
    Replayed after = espalier::apply(state, copy);
    if (after.ok()) {
      state = after.take();
      continue;
    }
    EXPECT_THAT(reason(after.rejection(), state, copy), HasSubstr("1024 is the most"));
    break;
  }
}

TEST(Explain, TheNestHasTheLoopMarked) {
  const Task task = task_of(kProduct);
  Trace trace = parse_trace("C: split j by 16", task).value();
  const StageId c = static_cast<StageId>(task.dag.find("C"));
  trace.push_back(AnnotateStep{c, 2, Annotation::Parallel, {}});
  const Replayed replayed = replay(task, trace);
  ASSERT_FALSE(replayed.ok());
  EXPECT_EQ(explain(replayed.rejection(), task, trace),
            "step 1: 'C: parallel k' does not apply: loop k of C (extent 64) is a reduction loop, "
            "whose iterations add to one value; rfactor it first, which makes it spatial in the "
            "partial results\n"
            "  for i: 100\n"
            "    for j.0: 3\n"
            "      for j.1: 16\n"
            "        reduce k: 64  <--\n"
            "          C = sum(A, B)\n");
}

TEST(Explain, IdsThatNameNothingAreNamedByNumber) {
  const Task task = task_of(kProduct);
  const StageId c = static_cast<StageId>(task.dag.find("C"));
  const Trace no_stage = {InlineStep{40}}, no_loop = {SplitStep{c, 9, {Num{2, -1}}}};
  EXPECT_THAT(explain(replay(task, no_stage).rejection(), task, no_stage),
              HasSubstr("'?40: inline' does not apply: there is no stage number 40; the stages are "
                        "A, B, C"));
  EXPECT_THAT(explain(replay(task, no_loop).rejection(), task, no_loop),
              HasSubstr("C has no loop number 9; its loops are i, j, k"));
}

TEST(Explain, NotReorderableNamesTheCombiner) {
  const Tensor a = placeholder("A", {8, 8});
  const Axis k = reduce_axis("k", 8);
  Combiner minus;
  minus.kind = Combiner::Kind::Custom;
  minus.name = "minus";
  minus.lhs = Var("x", DType::F32);
  minus.rhs = Var("y", DType::F32);
  minus.body = minus.lhs - minus.rhs;
  minus.custom_identity = make_float(DType::F32, 0);
  minus.reorderable = false;
  const Tensor d = compute("D", {8}, [&](Var i) { return make_reduce(minus, a(i, k), {k}); });
  Task task;
  task.dag = ComputeDag::make({d}).value();
  const Trace trace = {RfactorStep{1, {1}}};
  EXPECT_THAT(explain(replay(task, trace).rejection(), task, trace),
              HasSubstr("the terms of D must keep their order, since its combiner 'minus' is not "
                        "declared associative and commutative"));
}

std::vector<RejectionCode> all_codes() {
  std::vector<RejectionCode> codes;
  for (int c = 0; c <= static_cast<int>(RejectionCode::Overflow); ++c) {
    codes.push_back(static_cast<RejectionCode>(c));
  }
  return codes;
}

TEST(Explain, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (RejectionCode c : all_codes()) names.insert(name_of(c));
  EXPECT_EQ(names.size(), all_codes().size());
}

// Whatever ids and numbers a rejection carries, for whatever step.
TEST(Explain, AnyRejectionCanBeExplained) {
  const Task task = task_of(kMatmul);
  const Trace prefix = parse_trace("C: split j by 8\nC: cache_write at j.0", task).value();
  const State state = replay(task, prefix).take();
  const StageId c = state.find_stage("C");
  const Step steps[] = {SplitStep{c, 0, {}},
                        FuseStep{c, {}},
                        ReorderStep{c, {0}},
                        AnnotateStep{c, 0},
                        ComputeAtStep{c, 2, 1},
                        ComputeRootStep{c},
                        ComputeAfterStep{c, 2, 1},
                        StoreAtStep{c, 2, 1},
                        ShareStep{c, 2},
                        InlineStep{c},
                        CacheWriteStep{c, 0},
                        CacheReadStep{c, 0, 0, {}},
                        PackConstantStep{c, 0, {}},
                        RfactorStep{c, {}},
                        PadStep{c, 0}};
  for (const Step& step : steps) {
    for (RejectionCode code : all_codes()) {
      for (StageId s : {-1, 0, +c, state.size() - 1, state.size()}) {
        for (LoopId l : {-1, 1, 4, 99}) {
          for (int64_t n : {-1, 99}) {
            const Rejection r{code, static_cast<int16_t>(prefix.size()), s, l, n, n};
            ASSERT_FALSE(reason(r, state, step).empty());
          }
        }
      }
    }
  }
}

TEST(Explain, ARejectionThatBelongsToNoStepNamesItsCode) {
  const Task task = task_of(kMatmul);
  const Rejection r{RejectionCode::Overflow, 7, 0, 0, 0, 0};
  EXPECT_EQ(explain(r, task, {}), "step 7 of a trace of 0: overflow");
}

TEST(Explain, NumbersOfAnnotationsThatNoTextCanHoldAreRefused) {
  const Task task = task_of(kMatmul);
  for (const auto& [annotation, arg] :
       {std::pair(Annotation::Unroll, -1), std::pair(Annotation::Prefetch, 0)}) {
    const Trace trace = {
        AnnotateStep{static_cast<StageId>(task.dag.find("C")), 2, annotation, Num{arg}}};
    const Replayed replayed = replay(task, trace);
    ASSERT_FALSE(replayed.ok());
    EXPECT_EQ(replayed.rejection().code, RejectionCode::BadFactor);
    EXPECT_THAT(explain(replayed.rejection(), task, trace), HasSubstr("must be at least"));
  }
}

}  // namespace
}  // namespace espalier
