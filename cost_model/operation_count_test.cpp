#include "espalier/cost_model/operation_count.h"

#include <gtest/gtest.h>

#include "espalier/ir/ops/workload.h"
#include "espalier/schedule/text.h"

namespace espalier {
namespace {

OperationCount count(const char* definition, const char* trace, const char* stage) {
  Task task;
  task.dag = parse_dag(definition).value();
  task.target = parse_target("x86_64 features=+avx2,+fma").value();
  const State state = replay(task, parse_trace(trace, task).value()).take();
  return count_operations(state, state.find_stage(stage));
}

constexpr const char* kChain = R"(
A = placeholder f32[8, 8]
B = placeholder f32[8, 8]
C[i: 8, j: 8] = sum[k: 8](A[i, k] * B[k, j])
D[i: 8, j: 8] = exp(C[i, j] - 1.0f32)
E[i: 8, j: 8] = D[i, j] / 3.0f32
F[i: 8, j: 8] = max(E[i, j], A[i, j])
return F
)";

TEST(OperationCount, AProductThatIsAddedIsOne) { EXPECT_EQ(count(kChain, "", "C").plain, 1); }

TEST(OperationCount, FunctionsAndDivisionsAreApart) {
  EXPECT_EQ(count(kChain, "", "D").functions, 1);
  EXPECT_EQ(count(kChain, "", "E").divisions, 1);
  EXPECT_EQ(count(kChain, "", "E").plain, 0);
}

TEST(OperationCount, InlinedStagesCountWhereTheyAreRead) {
  const OperationCount c = count(kChain, "D: inline\nE: inline\n", "F");
  EXPECT_EQ(c.functions, 1);
  EXPECT_EQ(c.divisions, 1);
  EXPECT_EQ(c.plain, 4);  // the difference, and an extremum of two that passes on NaN
}

TEST(OperationCount, AddressingIsFree) {
  EXPECT_EQ(count("A = placeholder f32[99]\nB[i: 33] = A[i * 3 + 1]\nreturn B\n", "", "B").plain,
            0);
}

TEST(OperationCount, AccumulatorsDoTheWorkAndWriteBacksNone) {
  EXPECT_EQ(count(kChain, "C: cache_write at j -> C.acc\n", "C.acc").plain, 1);
  EXPECT_EQ(count(kChain, "C: cache_write at j -> C.acc\n", "C").plain, 0);
}

}  // namespace
}  // namespace espalier
