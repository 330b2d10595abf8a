#include "espalier/codegen/register_plan.h"

#include <gtest/gtest.h>

#include "espalier/codegen/emit.h"
#include "espalier/codegen/lane_mask.h"
#include "espalier/codegen/test_kernels.h"

namespace espalier {
namespace {

const Buffer kR = make_buffer("R", DType::F32, {64}, BufferScope::Register);

Stmt store_at(int64_t offset, int lanes, Expr predicate = {}) {
  const Expr at = lanes == 1 ? make_index(offset) : make_ramp(make_index(offset), 1, lanes);
  return make_flat_store(kR, at, make_float(Type(DType::F32, lanes), 1), std::move(predicate));
}
size_t slots(std::vector<Stmt> stmts) {
  const auto plan = plan_registers(kR, make_block(std::move(stmts)), false);
  return plan ? plan->size() : 0;
}

TEST(RegisterPlan, OneSlotForEachPlace) {
  EXPECT_EQ(slots({store_at(0, 16), store_at(16, 16), store_at(0, 16), store_at(40, 1)}), 3u);
}

TEST(RegisterPlan, OverlapNeedsMemory) { EXPECT_EQ(slots({store_at(0, 16), store_at(8, 8)}), 0u); }

TEST(RegisterPlan, LanesPastTheMaskDoNotOverlapTheNextPlace) {
  EXPECT_EQ(slots({store_at(0, 16, make_prefix_mask(9, 16)), store_at(9, 16)}), 2u);
}

TEST(RegisterPlan, VariableOffsetsNeedMemory) {
  const Var i("i");
  EXPECT_EQ(slots({make_flat_store(kR, i, Expr(1.0f))}), 0u);
}

TEST(RegisterPlan, BuffersOfParallelBodiesNeedMemory) {
  const Var i("i");
  const Stmt loop = make_for(i, 0, 4, ForKind::Parallel, store_at(0, 16));
  EXPECT_TRUE(plan_registers(kR, loop, false).has_value());
  EXPECT_FALSE(plan_registers(kR, loop, true).has_value());
}

// C[i, j] += A[i, k] * B[k, j] on a tile that lives in registers.
LoweredKernel tile(int64_t rows, int64_t columns, int64_t depth) {
  const Buffer a = make_buffer("A", DType::F32, {rows, depth}, BufferScope::Param);
  const Buffer b = make_buffer("B", DType::F32, {depth, columns}, BufferScope::Param);
  const Buffer c = make_buffer("C", DType::F32, {rows, columns}, BufferScope::Param);
  const Buffer t = make_buffer("T", DType::F32, {rows, columns}, BufferScope::Register);
  const Var i("i"), j("j"), k("k");
  const auto on_tile = [&](Stmt s) {
    return make_for(i, 0, rows, ForKind::Unrolled,
                    make_for(j, 0, columns, ForKind::Vectorized, std::move(s)));
  };
  const Expr term = make_load(a, {i, k}) * make_load(b, {k, j});
  return test::kernel_of(
      {a, b, c},
      make_allocate(
          t, make_block({on_tile(make_store(t, {i, j}, Expr(0.0f))),
                         make_for(k, 0, depth, ForKind::Serial,
                                  on_tile(make_store(t, {i, j}, make_load(t, {i, j}) + term))),
                         on_tile(make_store(c, {i, j}, make_load(t, {i, j})))})));
}

TEST(RegisterPlan, TilesOfEveryWidthAreTheSame) {
  for (const int64_t columns : {1, 2, 3, 5, 8, 9, 16, 17, 23, 31, 32, 48}) {
    test::expect_same_everywhere(tile(3, columns, 7));
  }
}

TEST(RegisterPlan, AccumulatorsNeverTouchTheStack) {
  for (const Target& target : {test::avx512(), test::avx2()}) {
    const std::string text = emit_assembly(tile(5, 16, 100), target).value();
    EXPECT_EQ(text.find("rsp"), std::string::npos) << text;
    EXPECT_NE(text.find("vfmadd"), std::string::npos);
  }
}

TEST(RegisterPlan, RaggedAccumulatorsNeverTouchTheStack) {
  const std::string text = emit_assembly(tile(3, 23, 100), test::avx512()).value();
  EXPECT_EQ(text.find("rsp"), std::string::npos) << text;
}

}  // namespace
}  // namespace espalier
