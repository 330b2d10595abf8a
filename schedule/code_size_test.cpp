#include "espalier/schedule/code_size.h"

#include <gtest/gtest.h>

#include "espalier/schedule/internal/test_programs.h"

namespace espalier {
namespace {

double size_of(std::string_view trace) { return code_size(state_of(task_of(kMatmul), trace)); }

TEST(CodeSize, OfTheInitialStateCountsEachStatementOnce) {
  // P: load, multiply, store; C: two loads, multiply, add, store; R: load, max, store.
  EXPECT_EQ(size_of(""), 3 + 5 + 3);
}

TEST(CodeSize, SplittingAndReorderingCostNothing) {
  EXPECT_EQ(size_of("C: split j by 8\nC: reorder j.0 i k j.1"), size_of(""));
}

TEST(CodeSize, UnrollingMultipliesTheBody) {
  EXPECT_EQ(size_of("C: split k by 8\nC: unroll k.1") - size_of(""), 7 * 5);
}

TEST(CodeSize, AnUnrollLimitBelowTheExtentCostsNothing) {
  EXPECT_EQ(size_of("C: unroll k max 16"), size_of(""));
}

TEST(CodeSize, AVectorIsOneInstructionARegister) {
  EXPECT_EQ(size_of("R: split j by 8\nR: vectorize j.1"), size_of(""));
  EXPECT_EQ(size_of("R: split j by 16\nR: vectorize j.1") - size_of(""), 3);
}

TEST(CodeSize, TheTailOfAnUnrolledTileIsASecondBody) {
  EXPECT_EQ(size_of("C: split i by 16\nC: reorder i.0 j k i.1\nC: unroll i.1") - size_of(""),
            (16 + 4 - 1) * 5);
}

TEST(CodeSize, PartsMultiplyTheBody) {
  EXPECT_EQ(size_of("C: partition i") - size_of(""), 2 * 5);
  EXPECT_EQ(size_of("C: partition i\nC: partition j") - size_of(""), 8 * 5);
}

TEST(CodeSize, LoopsAroundAnAttachedStageCount) {
  const char* trace = "C: split j by 4\nC: cache_write at j.1\nC: unroll j.1";
  // Four accumulators (zero loops of their own but k) and four write-backs.
  EXPECT_EQ(size_of(trace) - size_of("C: split j by 4\nC: cache_write at j.1"), 3 * (5 + 2));
}

TEST(CodeSize, InliningMovesTheBodyIntoTheReader) {
  // The load from P and its store go.
  EXPECT_EQ(size_of(""), size_of("P: inline") + 1 - 1);
  EXPECT_EQ(size_of("P: inline\nC: unroll k") - size_of("P: inline"),
            63.0 * (size_of("P: inline") - 3));
}

TEST(CodeSize, AnExpandedFunctionIsManyInstructions) {
  const auto of = [](const std::string& op) {
    return code_size(
        state_of(task_of("A = placeholder f32[8]\nE[i: 8] = " + op + "(A[i])\nreturn E\n"), ""));
  };
  EXPECT_EQ(of("sqrt"), 3);
  EXPECT_EQ(of("exp"), 2 + 20);
  EXPECT_GT(of("erf"), of("exp"));
}

TEST(CodeSize, WhatIsInlinedCountsAsOftenAsItIsRead) {
  const Task task =
      task_of("A = placeholder f32[4]\nS[i: 4] = -A[i]\nR[i: 4] = S[i] + S[i] * S[i]\nreturn R\n");
  // S: load, negate, store; R: three loads, add, multiply, store.
  EXPECT_EQ(code_size(state_of(task, "")), 3 + 6);
  EXPECT_EQ(inlined_code_size(state_of(task, ""), 1), 6 + 3 * 3);
  EXPECT_EQ(code_size(state_of(task, "S: inline")), 6 + 3 * 3);
}

TEST(CodeSize, ADoublingChainIsNotInlinedWithoutEnd) {
  std::string text = "A = placeholder f32[4]\nS0[i: 4] = -A[i]\n", trace;
  for (int n = 1; n < 60; ++n) {
    const std::string before = "S" + std::to_string(n - 1), name = "S" + std::to_string(n);
    text += name + "[i: 4] = " + before + "[i] + " + before + "[i]\n";
    trace += before + ": inline\n";
  }
  const Task task = task_of(text + "return S59\n");
  const Error error = parse_trace(trace, task).error();
  EXPECT_NE(error.message.find("in every place where it is read"), std::string::npos)
      << error.message;
}

TEST(CodeSize, OfAnEmptyExtentIsFinite) {
  const Task task = task_of("A = placeholder f32[0]\nS[] = sum[k: 0](A[k])\nreturn S\n");
  EXPECT_EQ(code_size(state_of(task, "S: unroll k")), 0);
}

}  // namespace
}  // namespace espalier
