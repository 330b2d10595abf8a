#include "espalier/schedule/names.h"

#include <gmock/gmock.h>

#include <set>

#include "espalier/schedule/internal/test_programs.h"
#include "espalier/support/lexer.h"

namespace espalier {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> leaf_names(const State& state, StageId s) {
  const std::vector<std::string> all = loop_names(state, s);
  std::vector<std::string> names;
  for (LoopId l : state.stage(s).order) names.push_back(all[static_cast<size_t>(l)]);
  return names;
}

Task task_of_tensor(const Tensor& output) {
  Task task;
  task.dag = ComputeDag::make({output}).value();
  return task;
}

bool is_identifier(const std::string& name) {
  Lexer lexer(name);
  const Result<Token> token = lexer.next();
  return token.ok() && token->kind == TokenKind::Identifier && token->text == name;
}

TEST(Names, OfStagesTellWhereTheyComeFrom) {
  const State state = state_of(task_of(kConvolution), R"(
    C: cache_write at w
    C.acc: cache_read 0 at kw layout [dim 3]
    C.acc: pack_constant 1 layout [dim 0, dim 1, dim 2, dim 3]
  )");
  EXPECT_THAT(stage_names(state),
              ElementsAre("X", "W", "C", "B", "R", "C.acc", "X.pack", "W.pack"));
}

TEST(Names, OfPartialResults) {
  const State state = state_of(task_of(kMatmul), "C: rfactor k");
  EXPECT_EQ(state.stage_name(static_cast<StageId>(state.dag().size())), "C.part");
  EXPECT_THAT(leaf_names(state, state.find_stage("C")), ElementsAre("i.w", "j.w", "k.r"));
  EXPECT_THAT(leaf_names(state, state.find_stage("C.part")), ElementsAre("i", "j", "k"));
}

TEST(Names, OfLoopsTellWhereTheyComeFrom) {
  const State state = state_of(task_of(kMatmul), R"(
    C: split j by 8 2
    C: split j.1 by 4
    C: split i by 5
    C: reorder i.0 j.0 i.1 j.1.0 j.1.1 j.2 k
    C: fuse i.0 j.0
    C: cache_write at i.0_j.0
  )");
  EXPECT_THAT(leaf_names(state, state.find_stage("C")),
              ElementsAre("i.0_j.0", "i.1.w", "j.1.0.w", "j.1.1.w", "j.2.w"));
  EXPECT_THAT(leaf_names(state, state.find_stage("C.acc")),
              ElementsAre("i.1", "j.1.0", "j.1.1", "j.2", "k"));
}

TEST(Names, OfCopiesAreThoseOfLoopsOrDimensions) {
  const State state = state_of(task_of(kConvolution), R"(
    C: split co by 16
    C: pack_constant 1 layout [co.0, dim 2 outer 4, kh, kw, dim 2 inner 4, co.1]
  )");
  EXPECT_THAT(leaf_names(state, state.find_stage("W.pack")),
              ElementsAre("co.0", "dim2.0", "kh", "kw", "dim2.1", "co.1"));
}

TEST(Names, RepeatedAxisNamesAreToldApart) {
  const Var i("i"), i2("i"), i3("i");
  const Tensor x = placeholder("X", {2, 3, 4});
  const Task task =
      task_of_tensor(compute_with_axes("Y", {{i, 2}, {i2, 3}, {i3, 4}}, x(i, i2, i3) + 1.0f));
  const State state = State::initial(task);
  EXPECT_THAT(leaf_names(state, 1), ElementsAre("i", "i_2", "i_3"));
  EXPECT_EQ(state.find_loop(1, "i_2"), 1);
}

TEST(Names, MadeNamesThatAreTakenGetASuffix) {
  const Var j("j"), j0("j.0"), hw("j_j.0");
  const Tensor x = placeholder("X", {8, 3, 4});
  const Task task =
      task_of_tensor(compute_with_axes("Y", {{j, 8}, {j0, 3}, {hw, 4}}, x(j, j0, hw) + 1.0f));
  State state = State::initial(task);
  ASSERT_FALSE(state.apply(SplitStep{1, 0, {Num{2, -1}}}));
  EXPECT_THAT(leaf_names(state, 1), ElementsAre("j.0_2", "j.1", "j.0", "j_j.0"));
  state = State::initial(task);
  ASSERT_FALSE(state.apply(FuseStep{1, {0, 1}}));
  EXPECT_THAT(leaf_names(state, 1), ElementsAre("j_j.0_2", "j_j.0"));
}

TEST(Names, TwoCopiesOfOneTensorAreToldApart) {
  const State state = state_of(task_of(kMatmul), R"(
    C: cache_read 1 at j layout [dim 0]
    P: compute_at C i
    P: cache_read 0 at k layout [dim 1]
    R: cache_read 0 at i layout [dim 1]
  )");
  EXPECT_EQ(state.stage_name(static_cast<StageId>(state.dag().size())), "B.pack");
  const std::vector<std::string> names = stage_names(state);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

TEST(Names, AnyTextBecomesAnIdentifier) {
  for (const char* text : {"", "conv2d/relu:0", "1st", "a b", "x.", "..", ".5", "inf", "nan",
                           "root", "by", "dim", "\xc3\xa9", "a-b", "_", "e9"}) {
    EXPECT_TRUE(is_identifier(identifier_from(text))) << text << " -> " << identifier_from(text);
    EXPECT_FALSE(is_reserved_word(identifier_from(text)));
  }
  EXPECT_EQ(identifier_from("C.acc"), "C.acc");
}

TEST(Names, TensorsOfAnyNameCanBeScheduledByText) {
  const Var i("root"), j("7 of 9");
  const Tensor x = placeholder("X", {8, 3});
  const Task task = task_of_tensor(compute_with_axes("conv/1", {{i, 8}, {j, 3}}, x(i, j) + 1.0f));
  State state = State::initial(task);
  ASSERT_FALSE(state.apply(SplitStep{1, 0, {Num{2, -1}}}));
  ASSERT_FALSE(state.apply(CacheWriteStep{1, 2}));
  const std::string text = to_string(state.trace(), task);
  EXPECT_EQ(parse_trace(text, task).value(), state.trace()) << text;
}

TEST(Names, LaterStepsNeverChangeAName) {
  const Task task = task_of(kConvolution);
  const Trace trace = parse_trace(R"(
    C: split w by 6
    C: split co by 2 8
    C: reorder n h co.0 w.0 kh kw ci w.1 co.1 co.2
    C: fuse n h
    C: cache_write at w.0
    C.acc: cache_read 0 at kh layout [dim 1, dim 2, ci]
    C.acc: split ci by 4
    C.acc: pack_constant 1 layout [dim 3 outer 16, dim 0, dim 1, dim 2, dim 3 inner 16]
    R: compute_after C n_h
    R: split w.0 by 2
  )",
                                  task)
                          .value();
  State state = State::initial(task);
  for (const Step& step : trace) {
    const std::vector<std::string> stages = stage_names(state);
    std::vector<std::vector<std::string>> loops;
    for (StageId s = 0; s < state.size(); ++s) loops.push_back(loop_names(state, s));
    ASSERT_FALSE(state.apply(step));
    const std::vector<std::string> stages_after = stage_names(state);
    EXPECT_TRUE(std::equal(stages.begin(), stages.end(), stages_after.begin()));
    for (size_t s = 0; s < loops.size(); ++s) {
      const std::vector<std::string> after = loop_names(state, static_cast<StageId>(s));
      EXPECT_TRUE(std::equal(loops[s].begin(), loops[s].end(), after.begin())) << stages[s];
    }
  }
}

TEST(Names, FindIsTheInverse) {
  const State state = state_of(task_of(kMatmul), "C: split j by 8\nC: cache_write at j.0");
  for (StageId s = 0; s < state.size(); ++s) {
    EXPECT_EQ(state.find_stage(state.stage_name(s)), s);
    for (LoopId l = 0; l < static_cast<LoopId>(state.stage(s).loops.size()); ++l) {
      EXPECT_EQ(state.find_loop(s, state.loop_name(s, l)), l);
    }
  }
  EXPECT_EQ(state.find_stage("nothing"), -1);
  EXPECT_EQ(state.find_loop(0, "nothing"), kNoLoop);
  EXPECT_EQ(state.find_loop(99, "i"), kNoLoop);
}

}  // namespace
}  // namespace espalier
