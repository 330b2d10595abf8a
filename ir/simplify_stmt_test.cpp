// Simplification of statements (ir/simplify.h).
#include <gtest/gtest.h>

#include "espalier/ir/simplify.h"

namespace espalier {
namespace {

struct SimplifyStmt : testing::Test {
  Var i{"i"}, j{"j"}, k{"k"}, n{"n"};
  Buffer a = make_buffer("A", DType::I64, {512}, BufferScope::Param);
  Buffer f = make_buffer("F", DType::F32, {512}, BufferScope::Param);

  Stmt loop(const Var& v, const Expr& min, const Expr& extent, Stmt body) {
    return make_for(v, min, extent, ForKind::Serial, std::move(body));
  }
  Stmt store(const Expr& index, const Expr& value) { return make_store(a, {index}, value); }
  std::string text(const Stmt& s, const Bounds& b = {}) { return to_string(simplify(s, b)); }
};

TEST_F(SimplifyStmt, GuardsThatAlwaysHoldGo) {
  EXPECT_EQ(text(loop(i, 0, 32, loop(j, 0, 16, make_if(i * 16 + j < 512, store(i * 16 + j, 1))))),
            "for i in [0, 32):\n"
            "  for j in [0, 16):\n"
            "    A[i * 16 + j] = 1\n");
}

TEST_F(SimplifyStmt, GuardsThatMayFailStay) {
  EXPECT_EQ(text(loop(i, 0, 32, loop(j, 0, 16, make_if(i * 16 + j < 500, store(i * 16 + j, 1))))),
            "for i in [0, 32):\n"
            "  for j in [0, 16):\n"
            "    if i * 16 + j < 500:\n"
            "      A[i * 16 + j] = 1\n");
}

TEST_F(SimplifyStmt, LoopsOfOneIterationAreTheirBody) {
  EXPECT_EQ(text(loop(i, 3, 1, loop(j, 0, 4, store(i * 4 + j, i)))),
            "for j in [0, 4):\n"
            "  A[j + 12] = 3\n");
  EXPECT_EQ(text(loop(n, 0, 8, loop(i, n * 2, 1, store(i, i + 1)))),
            "for n in [0, 8):\n"
            "  A[n * 2] = n * 2 + 1\n");
}

TEST_F(SimplifyStmt, LoopsThatNeverRunGo) {
  EXPECT_EQ(text(loop(i, 0, 0, store(i, 1))), "");
  EXPECT_EQ(text(loop(n, 0, 8, loop(i, 0, n - 8, store(i, 1)))), "");
}

TEST_F(SimplifyStmt, DeadBranchesGo) {
  EXPECT_EQ(text(loop(i, 0, 8, make_if(i < 8, store(i, 1), store(i, 2)))),
            "for i in [0, 8):\n"
            "  A[i] = 1\n");
  EXPECT_EQ(text(loop(i, 0, 8, make_if(i < 0, store(i, 1), store(i, 2)))),
            "for i in [0, 8):\n"
            "  A[i] = 2\n");
  EXPECT_EQ(text(loop(i, 0, 8, make_if(i < 3, make_block({}), store(i, 2)))),
            "for i in [0, 8):\n"
            "  if i >= 3:\n"
            "    A[i] = 2\n");
}

TEST_F(SimplifyStmt, TheConditionIsKnownInItsBranches) {
  EXPECT_EQ(text(loop(i, 0, 100,
                      make_if(i < 7, make_if(i < 7, store(i, min(i, 10))),
                              make_if(i >= 5, store(i, max(i, 7)))))),
            "for i in [0, 100):\n"
            "  if i < 7:\n"
            "    A[i] = i\n"
            "  else:\n"
            "    A[i] = i\n");
}

TEST_F(SimplifyStmt, ConditionsOnSumsTightenTheirVariables) {
  // i * 16 + j < 100 leaves i <= 6.
  EXPECT_EQ(text(loop(i, 0, 32, loop(j, 0, 16, make_if(i * 16 + j < 100, store(j, min(i, 6)))))),
            "for i in [0, 32):\n"
            "  for j in [0, 16):\n"
            "    if i * 16 + j < 100:\n"
            "      A[j] = i\n");
}

TEST_F(SimplifyStmt, ConditionsOnSumsDecideOthersOnTheSameSum) {
  const Stmt inner = make_if(j + i * 16 < 120, store(j, 1));
  EXPECT_EQ(text(loop(i, 0, 32, loop(j, 0, 16, make_if(i * 16 + j < 100, inner)))),
            "for i in [0, 32):\n"
            "  for j in [0, 16):\n"
            "    if i * 16 + j < 100:\n"
            "      A[j] = 1\n");
}

TEST_F(SimplifyStmt, TheFirstIterationIsKnownNotToBeTheOthers) {
  EXPECT_EQ(text(loop(k, 0, 8, make_if(k == 0, store(0, 1), store(1, max(k, 1))))),
            "for k in [0, 8):\n"
            "  if k == 0:\n"
            "    A[0] = 1\n"
            "  else:\n"
            "    A[1] = k\n");
}

TEST_F(SimplifyStmt, ClippedLoopsKnowTheirEnd) {
  // for j in [0, min(16, 500 - 16 i)): i * 16 + j < 500.
  EXPECT_EQ(text(loop(i, 0, 32,
                      loop(j, 0, min(16, 500 - i * 16),
                           make_if(i * 16 + j < 500, store(i * 16 + j, 1))))),
            "for i in [0, 32):\n"
            "  for j in [0, min(500 - i * 16, 16)):\n"
            "    A[i * 16 + j] = 1\n");
}

TEST_F(SimplifyStmt, LoopsFromAVariableStartThere) {
  EXPECT_EQ(text(loop(n, 0, 8, loop(i, n, 8, make_if(i >= n, store(i, max(i, n)))))),
            "for n in [0, 8):\n"
            "  for i in [n, n + 8):\n"
            "    A[i] = i\n");
}

TEST_F(SimplifyStmt, MemoryMayChangeWithinABranch) {
  const Expr cond = make_load(a, {0}) < 5;
  const Stmt s = make_if(cond, make_block({store(0, 7), make_if(cond, store(1, 1))}));
  EXPECT_TRUE(simplify(s).same_as(s));
}

TEST_F(SimplifyStmt, TrivialLetsAreReplacedAndDeadOnesDropped) {
  Var x("x"), y("y"), z("z");
  EXPECT_EQ(
      text(loop(i, 0, 8, make_let(x, i + 0, make_let(y, x * 2, make_let(z, y + 1, store(x, 1)))))),
      "for i in [0, 8):\n"
      "  A[i] = 1\n");
  EXPECT_EQ(text(loop(i, 0, 8, make_let(y, i * 2, make_if(y < 15, store(y, y + 1))))),
            "for i in [0, 8):\n"
            "  let y = i * 2\n"
            "  A[y] = y + 1\n");
}

TEST_F(SimplifyStmt, PredicatesThatAreKnownGo) {
  const Expr lanes = make_ramp(i * 8, 1, 8);
  const Expr value = make_load(f, {lanes}, lanes < 64);
  EXPECT_EQ(text(loop(i, 0, 8, make_store(f, {lanes}, value, lanes < 64))),
            "for i in [0, 8):\n"
            "  F[ramp(i * 8, 1, 8)] = F[ramp(i * 8, 1, 8)]\n");
  EXPECT_EQ(text(loop(i, 0, 8, make_store(f, {lanes}, value, lanes < 0))), "");
}

TEST_F(SimplifyStmt, EmptyAllocationsGo) {
  Buffer t = make_buffer("T", DType::F32, {4}, BufferScope::Stack);
  EXPECT_EQ(text(make_allocate(t, make_block({}))), "");
}

TEST_F(SimplifyStmt, KindAndPartitionAreKept) {
  const Stmt s = make_for(i, 0, 4 + n - n, ForKind::Parallel, store(i, i), true);
  const Stmt r = simplify(s);
  ASSERT_NE(r.as<ForNode>(), nullptr);
  EXPECT_EQ(r.as<ForNode>()->for_kind, ForKind::Parallel);
  EXPECT_TRUE(r.as<ForNode>()->partition);
}

TEST_F(SimplifyStmt, SameNodeWhenNothingChanges) {
  const Stmt s = loop(
      i, 0, 32,
      make_block({make_prefetch(a, {i}, false, 3),
                  loop(j, 0, 16, make_if(i * 16 + j < 500, store(i * 16 + j, i), store(j, 1)))}));
  EXPECT_TRUE(simplify(s).same_as(s));
  const Stmt empty = make_block({});
  EXPECT_TRUE(simplify(empty).same_as(empty));
}

}  // namespace
}  // namespace espalier
