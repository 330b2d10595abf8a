#include "espalier/codegen/workspace.h"

#include <gtest/gtest.h>

#include "espalier/codegen/test_kernels.h"

namespace espalier {
namespace {

const Buffer kY = make_buffer("Y", DType::F32, {64}, BufferScope::Param);

Buffer scratch(int64_t elements) {
  return make_buffer("T", DType::F32, {elements}, BufferScope::Workspace);
}
Stmt nothing() { return make_store(kY, {0}, Expr(0.0f)); }

TEST(Workspace, NestedBuffersAddUpAndSiblingsShare) {
  const Stmt small = make_allocate(scratch(16), nothing());
  const Stmt large = make_allocate(scratch(160), nothing());
  EXPECT_EQ(workspace_size(make_block({small, large}), 1), 640);
  EXPECT_EQ(workspace_size(make_allocate(scratch(160), small), 1), 704);
}

TEST(Workspace, SizesAreWholeLines) { EXPECT_EQ(workspace_size(scratch(1)), 64); }

TEST(Workspace, NeighboursOfWholePagesDoNotStartAtTheSamePlaceInOne) {
  EXPECT_NE(workspace_size(scratch(1024)) % 4096, 0);
}

TEST(Workspace, EverySlotOfAParallelLoopHasASlice) {
  const Var i("i");
  const Stmt loop = make_for(i, 0, 8, ForKind::Parallel, make_allocate(scratch(16), nothing()));
  EXPECT_EQ(workspace_size(loop, 3), 3 * workspace_size(loop, 1));
}

TEST(Workspace, OtherScopesTakeNothing) {
  const Buffer stack = make_buffer("S", DType::F32, {16}, BufferScope::Stack);
  EXPECT_EQ(workspace_size(make_allocate(stack, nothing()), 4), 0);
}

TEST(Workspace, BuffersAliveTogetherDoNotOverlap) {
  const Buffer a = scratch(64), b = scratch(64), c = scratch(64);
  const Var i("i");
  const auto fill = [&](const Buffer& t, float by) {
    return make_for(i, 0, 64, ForKind::Vectorized,
                    make_store(t, {i}, make_load(kY, {i}) * Expr(by)));
  };
  const Stmt inner = make_allocate(
      c, make_block(
             {fill(c, 3), make_for(i, 0, 64, ForKind::Vectorized,
                                   make_store(b, {i}, make_load(b, {i}) + make_load(c, {i})))}));
  const Stmt out = make_for(i, 0, 64, ForKind::Vectorized,
                            make_store(kY, {i}, make_load(a, {i}) + make_load(b, {i})));
  test::expect_same_everywhere(test::kernel_of(
      {kY},
      make_allocate(
          a, make_block({fill(a, 1), make_allocate(b, make_block({fill(b, 2), inner, out}))}))));
}

}  // namespace
}  // namespace espalier
