#include "espalier/codegen/flatten.h"

#include <gtest/gtest.h>

#include "espalier/codegen/test_kernels.h"
#include "espalier/ir/simplify.h"

namespace espalier {
namespace {

Buffer strided(std::string name, std::vector<int64_t> shape, std::vector<int64_t> strides) {
  auto node = make_ref<BufferNode>();
  node->name = std::move(name);
  node->dtype = DType::F32;
  node->shape = std::move(shape);
  node->strides = std::move(strides);
  node->alignment = 4;
  return Buffer(std::move(node));
}

TEST(Flatten, UsesTheStridesOfTheBuffer) {
  const Buffer x = strided("X", {4, 5}, {7, 1}), y = strided("Y", {4, 5}, {1, 4});
  const Var i("i"), j("j");
  const Stmt s = flatten(make_store(y, {i, j}, make_load(x, {i, j})));
  const auto* n = s.as<StoreNode>();
  ASSERT_TRUE(n->flat);
  EXPECT_TRUE(equal(simplify(n->indices[0]), simplify(i + j * Expr(4))));
}

TEST(Flatten, ProgressionsOfSeveralIndicesAddUp) {
  const Buffer x = strided("X", {9, 9}, {9, 1});
  const Expr diagonal = make_ramp(make_index(0), 1, 8);
  const Stmt s = flatten(make_store(x, {diagonal, diagonal}, make_broadcast(Expr(1.0f), 8)));
  EXPECT_TRUE(equal(s.as<StoreNode>()->indices[0], make_ramp(make_index(0), 10, 8)));
}

TEST(Flatten, RankZeroIsOffsetZero) {
  const Buffer x = strided("X", {}, {});
  EXPECT_TRUE(is_const(flatten(make_store(x, {}, Expr(1.0f))).as<StoreNode>()->indices[0], 0));
}

TEST(Flatten, StridesOfAnySignGiveTheSame) {
  for (const int64_t inner : {1, 2, 3, -1, -2, 5}) {
    const Buffer x = strided("X", {3, 21}, {inner * 40, inner}), y = strided("Y", {3, 21}, {21, 1});
    const Var i("i"), j("j");
    const Stmt body = make_store(y, {i, j}, make_load(x, {i, j}) + Expr(1.0f));
    test::expect_same_everywhere(test::kernel_of(
        {x, y}, make_for(i, 0, 3, ForKind::Serial, make_for(j, 0, 21, ForKind::Vectorized, body))));
  }
}

TEST(Flatten, StrideZeroBroadcasts) {
  const Buffer x = strided("X", {21}, {0}), y = strided("Y", {21}, {1});
  const Var j("j");
  test::expect_same_everywhere(test::kernel_of(
      {x, y}, make_for(j, 0, 21, ForKind::Vectorized, make_store(y, {j}, make_load(x, {j})))));
}

TEST(Flatten, OffsetsPastThirtyTwoBitsAreRight) {
  // Row stride (W - 1) * W of W = 46341: element (1, W - 1) lies at 2147488280.
  const int64_t w = 46341;
  const Buffer x = strided("X", {2, w}, {(w - 1) * w, 1});
  const Var i("i"), j("j");
  const Stmt s = flatten(make_store(x, {i, j}, Expr(1.0f)));
  const Expr at = substitute(s.as<StoreNode>()->indices[0],
                             {{i.get(), make_index(1)}, {j.get(), make_index(w - 1)}});
  EXPECT_TRUE(is_const(simplify(at), 2147488280));
}

}  // namespace
}  // namespace espalier
