#include "espalier/codegen/predicate_loads.h"

#include <gtest/gtest.h>

#include "espalier/codegen/test_kernels.h"

namespace espalier {
namespace {

const Buffer kX = make_buffer("X", DType::F32, {5}, BufferScope::Param);
const Buffer kY = make_buffer("Y", DType::F32, {30}, BufferScope::Param);

// The loads of X in the value stored, in order.
std::vector<const LoadNode*> loads(const Stmt& s) {
  std::vector<const LoadNode*> found;
  visit(
      s, [](const Stmt&) { return true; },
      [&](const Expr& e) {
        if (const auto* n = e.as<LoadNode>()) found.push_back(n);
        return true;
      });
  return found;
}

TEST(PredicateLoads, ConditionAndItsNegationGuardTheSides) {
  const Var i("i");
  const Expr cond = i < Expr(3);
  const Stmt s = predicate_loads(make_for(
      i, 0, 30, ForKind::Serial,
      make_store(kY, {i}, select(cond, make_load(kX, {i}), make_load(kX, {i - Expr(25)})))));
  const auto found = loads(s);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(equal(found[0]->predicate, cond));
  EXPECT_TRUE(equal(found[1]->predicate, make_unary(UnaryOp::Not, cond)));
}

TEST(PredicateLoads, LoadsInRangeStayPlain) {
  const Var i("i");
  const Stmt s = predicate_loads(make_for(
      i, 0, 5, ForKind::Serial,
      make_store(kY, {i},
                 select(make_load(kY, {i}) > Expr(0.0f), make_load(kX, {i}), Expr(0.0f)))));
  for (const LoadNode* n : loads(s)) EXPECT_FALSE(bool(n->predicate));
}

TEST(PredicateLoads, NestedConditionsAreCombined) {
  const Var i("i");
  const Expr inner = select(i > Expr(1), make_load(kX, {i}), Expr(2.0f));
  const Stmt nest = make_for(i, 0, 30, ForKind::Serial,
                             make_store(kY, {i}, select(i < Expr(5), inner, Expr(1.0f))));
  EXPECT_TRUE(equal(loads(predicate_loads(nest))[0]->predicate, i < Expr(5) && i > Expr(1)));
  test::expect_same_everywhere(test::kernel_of({kX, kY}, nest));
}

TEST(PredicateLoads, CellsNeverWrittenAreNotRead) {
  const Buffer t = make_buffer("T", DType::F32, {30}, BufferScope::Workspace);
  const Var i("i"), j("j");
  const Stmt fill = make_for(i, 0, 7, ForKind::Vectorized, make_store(t, {i}, make_load(kY, {i})));
  const Stmt use =
      make_for(j, 0, 30, ForKind::Vectorized,
               make_store(kY, {j}, select(j < Expr(7), make_load(t, {j}), Expr(-1.0f))));
  test::expect_same_everywhere(test::kernel_of({kY}, make_allocate(t, make_block({fill, use}))));
}

}  // namespace
}  // namespace espalier
