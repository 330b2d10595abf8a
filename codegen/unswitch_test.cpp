#include "espalier/codegen/unswitch.h"

#include <gtest/gtest.h>

#include "espalier/codegen/test_kernels.h"

namespace espalier {
namespace {

const Buffer kX = make_buffer("X", DType::F32, {10, 10}, BufferScope::Param);
const Buffer kY = make_buffer("Y", DType::F32, {10, 10}, BufferScope::Param);

struct Nest {
  Var i{"i"}, k{"k"};
  Stmt around(Stmt inner) const {
    return make_for(i, 0, 10, ForKind::Serial,
                    make_for(k, 0, 10, ForKind::Serial, std::move(inner)));
  }
  Stmt add(int64_t column) const {
    return make_store(kY, {i, column}, make_load(kY, {i, column}) + make_load(kX, {i, k}));
  }
};

int loops_over(const Stmt& s, const Var& v) {
  int count = 0;
  visit(
      s,
      [&](const Stmt& part) {
        const auto* loop = part.as<ForNode>();
        count += loop != nullptr && loop->var.same_as(v);
        return true;
      },
      [](const Expr&) { return false; });
  return count;
}

TEST(Unswitch, WholeBodyIsAnIf) {
  const Nest n;
  const Stmt s = unswitch(n.around(make_if(n.i < Expr(4), n.add(0))));
  EXPECT_EQ(s.as<ForNode>()->body.kind(), StmtKind::If);
  EXPECT_EQ(loops_over(s, n.k), 1);
}

TEST(Unswitch, BothOutcomesGetALoop) {
  const Nest n;
  const Stmt nest = n.around(make_block({make_if(n.i < Expr(4), n.add(0), n.add(1)), n.add(2)}));
  const Stmt s = unswitch(nest);
  EXPECT_EQ(loops_over(s, n.k), 2);
  test::expect_same_everywhere(test::kernel_of({kX, kY}, nest));
}

TEST(Unswitch, ConditionsThatTheLoopChangesStay) {
  const Nest n;
  const Stmt on_var = n.around(make_if(n.k < Expr(4), n.add(0)));
  EXPECT_TRUE(unswitch(on_var).same_as(on_var));
  const Stmt on_data = n.around(make_if(make_load(kY, {n.i, 0}) < Expr(4.0f), n.add(0)));
  EXPECT_TRUE(unswitch(on_data).same_as(on_data));
}

TEST(Unswitch, LargeBodiesAreNotCopied) {
  const Nest n;
  std::vector<Stmt> parts{make_if(n.i < Expr(4), n.add(0))};
  for (int c = 0; c < 40; ++c) parts.push_back(n.add(1));
  const Stmt s = n.around(make_block(std::move(parts)));
  EXPECT_TRUE(unswitch(s).same_as(s));
}

TEST(Unswitch, AtMostTwoConditionsALoop) {
  const Nest n;
  const Stmt s = unswitch(
      n.around(make_block({make_if(n.i < Expr(4), n.add(0)), make_if(n.i < Expr(5), n.add(1)),
                           make_if(n.i < Expr(6), n.add(2))})));
  EXPECT_EQ(loops_over(s, n.k), 4);
}

}  // namespace
}  // namespace espalier
