#include "espalier/ir/mutate.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

struct Mutate : testing::Test {
  Buffer a = make_buffer("A", DType::F32, {8, 8}, BufferScope::Param);
  Var i{"i"}, j{"j"}, k{"k"};
  Stmt nest = make_for(i, 0, 8, ForKind::Serial,
                       make_if(i < j, make_store(a, {i, j}, make_load(a, {j, i}) + 1.0f)));
};

TEST_F(Mutate, IdentityKeepsTheNode) {
  EXPECT_TRUE(substitute(nest, {}).same_as(nest));
  EXPECT_TRUE(substitute(nest, {{k.get(), Expr(1)}}).same_as(nest));
}

TEST_F(Mutate, SubstituteReachesEveryPlace) {
  const Stmt s = substitute(nest, {{j.get(), k + 1}});
  EXPECT_FALSE(uses_var(s, j));
  EXPECT_EQ(to_string(s),
            "for i in [0, 8):\n"
            "  if i < k + 1:\n"
            "    A[i, k + 1] = A[k + 1, i] + 1.0f32\n");
}

TEST_F(Mutate, SubstituteFoldsConstants) {
  EXPECT_TRUE(is_const(substitute(i * 3 + 1, {{i.get(), Expr(5)}}), 16));
}

TEST_F(Mutate, ScalarsMayBecomeVectors) {
  const Expr e = substitute(make_load(a, {i, j}), {{j.get(), make_ramp(j, 1, 4)}});
  EXPECT_EQ(e.type(), Type(DType::F32, 4));
}

TEST_F(Mutate, SubstituteOfSharedTreesIsLinear) {
  Expr e = i;
  for (int n = 0; n < 60; ++n) e = e + e;  // a tree of 2^60 leaves
  EXPECT_TRUE(is_const(substitute(e, {{i.get(), Expr(1)}}), int64_t{1} << 60));
}

TEST_F(Mutate, VisitSeesParentsFirstAndMaySkip) {
  std::vector<std::string> seen;
  visit(i * 2 + j, [&](const Expr& e) {
    seen.push_back(to_string(e));
    return seen.back() != "i * 2";
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"i * 2 + j", "i * 2", "j"}));
}

TEST_F(Mutate, UsesVarLooksIntoIndicesAndPredicates) {
  const Expr e = make_load(a, {i, 0}, k < 3);
  EXPECT_TRUE(uses_var(e, i));
  EXPECT_TRUE(uses_var(e, k));
  EXPECT_FALSE(uses_var(e, j));
  EXPECT_TRUE(uses_var(nest, j));
}

}  // namespace
}  // namespace espalier
