#include "espalier/codegen/unroll.h"

#include <gtest/gtest.h>

#include "espalier/codegen/test_kernels.h"

namespace espalier {
namespace {

const Buffer kX = make_buffer("X", DType::F32, {100}, BufferScope::Param);
const Buffer kY = make_buffer("Y", DType::F32, {100}, BufferScope::Param);

size_t statements(const Stmt& s) {
  const auto* n = s.as<BlockNode>();
  return n == nullptr ? 1 : n->stmts.size();
}

TEST(Unroll, CopiesTheBodyWithConstantIndices) {
  const Var i("i");
  const Stmt s = unroll(
      make_for(i, 2, 3, ForKind::Unrolled, make_store(kY, {i * Expr(4)}, make_load(kX, {i}))));
  ASSERT_EQ(statements(s), 3u);
  const auto* last = s.as<BlockNode>()->stmts[2].as<StoreNode>();
  EXPECT_TRUE(is_const(last->indices[0], 16));
}

TEST(Unroll, GuardsOnTheVariableFoldAway) {
  const Var i("i");
  const Stmt s = unroll(
      make_for(i, 0, 8, ForKind::Unrolled, make_if(i < Expr(3), make_store(kY, {i}, Expr(1.0f)))));
  EXPECT_EQ(statements(s), 3u);
}

TEST(Unroll, BranchNotTakenIsNeverMade) {
  const Var i("i"), j("j");
  const Stmt inner = make_for(j, 0, i, ForKind::Serial, make_store(kY, {j}, Expr(1.0f)));
  const Stmt s = unroll(make_for(i, 0, 4, ForKind::Unrolled,
                                 make_if(i < Expr(1), inner, make_store(kY, {i}, Expr(2.0f)))));
  EXPECT_EQ(statements(s), 4u);
}

TEST(Unroll, NestedLoopsBecomeOneBlock) {
  const Var i("i"), j("j");
  const Stmt body = make_store(kY, {i * Expr(5) + j}, Expr(1.0f));
  const Stmt s =
      unroll(make_for(i, 0, 4, ForKind::Unrolled, make_for(j, 0, 5, ForKind::Unrolled, body)));
  EXPECT_EQ(statements(s), 20u);
}

TEST(Unroll, UnknownExtentBecomesSerial) {
  const Var n("n"), i("i");
  const Stmt s =
      unroll(make_for(n, 0, 9, ForKind::Serial,
                      make_for(i, 0, n, ForKind::Unrolled, make_store(kY, {i}, Expr(1.0f)))));
  EXPECT_EQ(s.as<ForNode>()->body.as<ForNode>()->for_kind, ForKind::Serial);
}

TEST(Unroll, EmptyLoopLeavesNothing) {
  const Var i("i");
  EXPECT_EQ(
      statements(unroll(make_for(i, 0, 0, ForKind::Unrolled, make_store(kY, {i}, Expr(1.0f))))),
      0u);
}

TEST(Unroll, ReturnsTheSameNodeWhenThereIsNothingToUnroll) {
  const Var i("i");
  const Stmt s = make_for(i, 0, 9, ForKind::Serial, make_store(kY, {i}, make_load(kX, {i})));
  EXPECT_TRUE(unroll(s).same_as(s));
}

TEST(Unroll, ResultIsTheSame) {
  const Var i("i"), k("k");
  const Stmt body = make_store(kY, {i}, make_load(kY, {i}) + make_load(kX, {k * Expr(7) + i}));
  test::expect_same_everywhere(test::kernel_of(
      {kX, kY}, make_for(k, 1, 9, ForKind::Serial, make_for(i, 2, 6, ForKind::Unrolled, body))));
}

}  // namespace
}  // namespace espalier
