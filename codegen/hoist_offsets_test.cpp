#include "espalier/codegen/hoist_offsets.h"

#include <gtest/gtest.h>

#include "espalier/codegen/flatten.h"
#include "espalier/codegen/test_kernels.h"

namespace espalier {
namespace {

const Buffer kX = make_buffer("X", DType::F32, {8, 9, 10}, BufferScope::Param);
const Buffer kY = make_buffer("Y", DType::F32, {8, 9, 10}, BufferScope::Param);

Stmt nest(const Var& i, const Var& j, const Var& k, Stmt body) {
  return make_for(i, 0, 8, ForKind::Serial,
                  make_for(j, 0, 9, ForKind::Serial, make_for(k, 0, 5, ForKind::Serial, body)));
}

// Variables bound by the Lets directly inside the body of the loop over `var`.
int lets_in(const Stmt& s, const Var& var) {
  int count = -1;
  visit(
      s,
      [&](const Stmt& part) {
        const auto* loop = part.as<ForNode>();
        if (loop != nullptr && loop->var.same_as(var)) {
          count = 0;
          for (Stmt b = loop->body; b.kind() == StmtKind::Let; b = b.as<LetNode>()->body) ++count;
        }
        return true;
      },
      [](const Expr&) { return false; });
  return count;
}

TEST(HoistOffsets, EachLoopAddsItsPart) {
  const Var i("i"), j("j"), k("k");
  const Stmt body = make_store(kY, {i, j, k}, make_load(kX, {i, j, k + Expr(5)}));
  const Stmt s = hoist_offsets(flatten(nest(i, j, k, body)));
  EXPECT_EQ(lets_in(s, i), 1);
  EXPECT_EQ(lets_in(s, j), 1);
  EXPECT_EQ(lets_in(s, k), 1);
}

TEST(HoistOffsets, AccessesShareEqualParts) {
  const Var i("i"), j("j"), k("k");
  const Expr sum = make_load(kX, {i, j, k + Expr(1)}) + make_load(kX, {i, j, k + Expr(2)}) +
                   make_load(kX, {i, 2, k});
  const Stmt s = hoist_offsets(flatten(nest(i, j, k, make_store(kY, {i, j, k}, sum))));
  EXPECT_EQ(lets_in(s, i), 1);
  EXPECT_EQ(lets_in(s, j), 1);
  EXPECT_EQ(lets_in(s, k), 2);
}

TEST(HoistOffsets, DivisionsMoveOutOfLoopsTheyDoNotDependOn) {
  const Var i("i"), j("j"), k("k");
  const Stmt body = make_store(kY, {floordiv(i, 3), floormod(i, 3), k}, make_load(kX, {i, j, k}));
  const Stmt s = hoist_offsets(flatten(nest(i, j, k, body)));
  EXPECT_EQ(lets_in(s, i), 2);
}

TEST(HoistOffsets, IndicesReadFromMemoryStay) {
  const Buffer at = make_buffer("I", DType::I64, {8}, BufferScope::Param);
  const Var i("i"), j("j"), k("k");
  const Stmt body =
      make_store(kY, {i, j, k}, make_load(kX, {floormod(make_load(at, {i}), 8), j, k}));
  test::expect_same_everywhere(test::kernel_of({kX, kY, at}, nest(i, j, k, body)));
}

TEST(HoistOffsets, ResultIsTheSame) {
  const Var i("i"), j("j"), k("k");
  const Stmt body = make_store(kY, {Expr(7) - i, floormod(j * Expr(4), 9), k * Expr(2)},
                               make_load(kX, {i, Expr(8) - j, k + Expr(3)}) + Expr(1.0f));
  test::expect_same_everywhere(test::kernel_of({kX, kY}, nest(i, j, k, body)));
}

}  // namespace
}  // namespace espalier
