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

TEST(RegisterPlan, AccessesToTheFirstLanesShareTheSlot) {
  EXPECT_EQ(slots({store_at(0, 16), store_at(0, 16, make_prefix_mask(12, 16)), store_at(0, 8),
                   store_at(0, 1)}),
            1u);
}

Stmt load_strided(int64_t base, int64_t stride, int lanes) {
  const Buffer out = make_buffer("O", DType::F32, {64}, BufferScope::Param);
  return make_flat_store(out, make_ramp(make_index(0), 1, lanes),
                         make_flat_load(kR, make_ramp(make_index(base), stride, lanes)));
}

TEST(RegisterPlan, ColumnsOfATileNeedNoMemory) {
  EXPECT_EQ(slots({store_at(0, 8), store_at(8, 8), load_strided(3, 8, 2)}), 2u);
}

TEST(RegisterPlan, StridesAcrossLanesNeedMemory) {
  EXPECT_EQ(slots({store_at(0, 8), store_at(8, 8), load_strided(3, 7, 2)}), 0u);
  EXPECT_EQ(slots({store_at(0, 8), store_at(8, 8), load_strided(3, 8, 3)}), 0u);
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

TEST(RegisterPlan, LanesThatAMaskSelectsShareTheSlot) {
  const Expr mask =
      make_binary(BinaryOp::Lt, make_ramp(Var("x"), 1, 16), make_broadcast(make_index(5), 16));
  EXPECT_EQ(slots({store_at(0, 16), store_at(0, 16, mask)}), 1u);
  // Of those that the rest of the mask leaves out nothing is held.
  EXPECT_EQ(slots({store_at(0, 16, make_prefix_mask(9, 16) && mask), store_at(9, 16)}), 2u);
}

// C[i, j] = sum of A[i, stride * j + k - 1] over k < 3, without those that do not exist.
LoweredKernel padded_window(DType type, int64_t columns, int64_t stride) {
  const int64_t rows = 2, width = (columns - 1) * stride + 1;
  const Buffer a = make_buffer("A", type, {rows, width}, BufferScope::Param);
  const Buffer c = make_buffer("C", type, {rows, columns}, BufferScope::Param);
  const Buffer t = make_buffer("T", type, {rows, columns}, BufferScope::Register);
  const Var i("i"), j("j"), k("k");
  const auto on_tile = [&](Stmt s) {
    return make_for(i, 0, rows, ForKind::Unrolled,
                    make_for(j, 0, columns, ForKind::Vectorized, std::move(s)));
  };
  const Expr zero =
      type == DType::F32 || type == DType::F64 ? make_float(type, 0) : make_int(type, 0);
  const Expr at = j * stride + k - 1;
  const Stmt add = make_if(at >= Expr(0) && at < Expr(width),
                           make_store(t, {i, j}, make_load(t, {i, j}) + make_load(a, {i, at})));
  return test::kernel_of(
      {a, c}, make_allocate(t, make_block({on_tile(make_store(t, {i, j}, zero)),
                                           make_for(k, 0, 3, ForKind::Serial, on_tile(add)),
                                           on_tile(make_store(c, {i, j}, make_load(t, {i, j})))})));
}

TEST(RegisterPlan, PaddedWindowsAreTheSame) {
  for (const DType type : {DType::F32, DType::F64, DType::I32, DType::I8}) {
    for (const int64_t columns : {1, 5, 8, 16, 24}) {
      for (const int64_t stride : {1, 2, 3, 5}) {
        test::expect_same_everywhere(padded_window(type, columns, stride));
      }
    }
  }
}

TEST(RegisterPlan, PaddedWindowsNeverTouchTheStack) {
  for (const int64_t stride : {1, 2, 3}) {
    const std::string text =
        emit_assembly(padded_window(DType::F32, 16, stride), test::avx512()).value();
    EXPECT_EQ(text.find("rsp"), std::string::npos) << text;
    EXPECT_EQ(text.find("gather"), std::string::npos) << text;
  }
}

// T[i, l] += A[i, 16 c + l] * B[16 c + l], the last chunk incomplete; then C[i, l] = T[i, l].
LoweredKernel dot_lanes(int64_t rows, int64_t depth, int64_t lanes) {
  const Buffer a = make_buffer("A", DType::F32, {rows, depth}, BufferScope::Param);
  const Buffer b = make_buffer("B", DType::F32, {depth}, BufferScope::Param);
  const Buffer c = make_buffer("C", DType::F32, {rows, lanes}, BufferScope::Param);
  const Buffer t = make_buffer("T", DType::F32, {rows, lanes}, BufferScope::Register);
  const Var i("i"), l("l"), chunk("c");
  const auto on_tile = [&](int64_t width, Stmt s) {
    return make_for(i, 0, rows, ForKind::Unrolled,
                    make_for(l, 0, width, ForKind::Vectorized, std::move(s)));
  };
  const auto add = [&](const Expr& first) {
    const Expr k = first * lanes + l;
    return make_store(t, {i, l}, make_load(t, {i, l}) + make_load(a, {i, k}) * make_load(b, {k}));
  };
  const int64_t whole = depth / lanes;
  return test::kernel_of(
      {a, b, c},
      make_allocate(
          t, make_block({on_tile(lanes, make_store(t, {i, l}, Expr(0.0f))),
                         make_for(chunk, 0, whole, ForKind::Serial, on_tile(lanes, add(chunk))),
                         on_tile(depth - whole * lanes, add(make_index(whole))),
                         on_tile(lanes, make_store(c, {i, l}, make_load(t, {i, l})))})));
}

TEST(RegisterPlan, LastTermsOfAReductionAlongLanesAreTheSame) {
  for (const int64_t rest : {1, 2, 3, 4, 5, 7, 8, 9, 12, 15}) {
    test::expect_same_everywhere(dot_lanes(3, 3 * 16 + rest, 16));
  }
}

TEST(RegisterPlan, LastTermsOfAReductionAlongLanesStayInRegisters) {
  for (const int64_t rest : {1, 5, 12}) {
    const std::string text = emit_assembly(dot_lanes(4, 48 + rest, 16), test::avx512()).value();
    EXPECT_EQ(text.find("rsp"), std::string::npos) << text;
  }
}

// Y[j, i] = T[i, j] = X[i, j] on a tile that lives in registers.
LoweredKernel transpose(DType type, int64_t rows, int64_t columns) {
  const Buffer x = make_buffer("X", type, {rows, columns}, BufferScope::Param);
  const Buffer y = make_buffer("Y", type, {columns, rows}, BufferScope::Param);
  const Buffer t = make_buffer("T", type, {rows, columns}, BufferScope::Register);
  const Var i("i"), j("j");
  const auto nest = [&](const Var& outer, int64_t n, const Var& inner, int64_t m, Stmt s) {
    return make_for(outer, 0, n, ForKind::Unrolled,
                    make_for(inner, 0, m, ForKind::Vectorized, std::move(s)));
  };
  return test::kernel_of(
      {x, y},
      make_allocate(
          t, make_block({nest(i, rows, j, columns, make_store(t, {i, j}, make_load(x, {i, j}))),
                         nest(j, columns, i, rows, make_store(y, {j, i}, make_load(t, {i, j})))})));
}

TEST(RegisterPlan, TransposedTilesAreTheSame) {
  for (const DType type :
       {DType::F32, DType::F64, DType::I8, DType::I16, DType::BF16, DType::Bool}) {
    for (const int64_t rows : {2, 3, 8, 16}) {
      for (const int64_t columns : {4, 5, 16}) {
        test::expect_same_everywhere(transpose(type, rows, columns));
      }
    }
  }
}

TEST(RegisterPlan, TransposedTilesNeverTouchTheStack) {
  for (const Target& target : {test::avx512(), test::avx2()}) {
    const int64_t n = target.vector_bits / 32;
    const std::string text = emit_assembly(transpose(DType::F32, n, n), target).value();
    EXPECT_EQ(text.find("rsp"), std::string::npos) << text;
    EXPECT_EQ(text.find("gather"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace espalier
