#include "espalier/codegen/vectorize.h"

#include <gtest/gtest.h>

#include "espalier/codegen/test_kernels.h"
#include "espalier/ir/mutate.h"

namespace espalier {
namespace {

using test::expect_same_everywhere;
using test::kernel_of;

Buffer param(std::string name, std::vector<int64_t> shape, DType t = DType::F32) {
  return make_buffer(std::move(name), t, std::move(shape), BufferScope::Param);
}

int count_loops(const Stmt& s) {
  int loops = 0;
  visit(
      s,
      [&](const Stmt& part) {
        loops += part.kind() == StmtKind::For;
        return true;
      },
      [](const Expr&) { return false; });
  return loops;
}

// Y[i] = X[i] * 2 + 1 in vectors.
LoweredKernel axpy(int64_t n, DType t = DType::F32) {
  const Buffer x = param("X", {n}, t), y = param("Y", {n}, t);
  const Var i("i");
  const Expr value = make_load(x, {i}) * make_number(t, 2) + make_number(t, 1);
  return kernel_of({x, y}, make_for(i, 0, n, ForKind::Vectorized, make_store(y, {i}, value)));
}

class Extents : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Vectorize, Extents,
                         testing::Values(0, 1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 31, 32, 33, 49,
                                         127, 129, 197, 500));

TEST_P(Extents, ElementwiseIsTheSame) {
  for (const DType t : {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I8, DType::U16,
                        DType::I32, DType::I64}) {
    expect_same_everywhere(axpy(GetParam(), t));
  }
}

TEST_P(Extents, SumOfLanesIsTheSame) {
  const int64_t n = GetParam();
  const Buffer x = param("X", {n}), y = param("Y", {1});
  const Var i("i");
  const Stmt add = make_store(y, {0}, make_load(y, {0}) + make_load(x, {i}));
  expect_same_everywhere(kernel_of({x, y}, make_for(i, 0, n, ForKind::Vectorized, add)));
}

TEST_P(Extents, GuardedByTheLaneIsTheSame) {
  const int64_t n = GetParam();
  const Buffer x = param("X", {n}), y = param("Y", {n}), bound = param("B", {1}, DType::I64);
  const Var i("i");
  const Stmt store = make_store(y, {i}, make_load(x, {n - 1 - i}) + Expr(1.0f));
  const Stmt loop =
      make_for(i, 0, n, ForKind::Vectorized, make_if(i < make_load(bound, {0}) * Expr(5), store));
  expect_same_everywhere(kernel_of({x, y, bound}, loop));
}

TEST_P(Extents, StridedAndReversedLanesAreTheSame) {
  const int64_t n = GetParam();
  const Buffer x = param("X", {n, 4}), y = param("Y", {n}), z = param("Z", {n, 3});
  const Var i("i");
  const Expr sum = make_load(x, {i, 1}) + make_load(x, {n - 1 - i, 3});
  const Stmt body = make_block({make_store(y, {i}, sum), make_store(z, {i, 2}, sum)});
  expect_same_everywhere(kernel_of({x, y, z}, make_for(i, 0, n, ForKind::Vectorized, body)));
}

TEST_P(Extents, GathersAreTheSame) {
  const int64_t n = GetParam();
  const Buffer x = param("X", {7}), index = param("I", {n}, DType::U8), y = param("Y", {n});
  const Var i("i");
  const Expr at = cast(DType::I64, make_load(index, {i}));
  expect_same_everywhere(
      kernel_of({x, index, y},
                make_for(i, 0, n, ForKind::Vectorized, make_store(y, {i}, make_load(x, {at})))));
}

TEST_P(Extents, SideNotChosenIsNotRead) {
  const int64_t n = GetParam();
  const Buffer x = param("X", {std::max<int64_t>(1, n / 2)}), y = param("Y", {n});
  const Var i("i");
  const Expr value = select(i < Expr(n / 2), make_load(x, {i}), Expr(7.0f));
  expect_same_everywhere(
      kernel_of({x, y}, make_for(i, 0, n, ForKind::Vectorized, make_store(y, {i}, value))));
}

TEST_P(Extents, BoolLanesAreTheSame) {
  const int64_t n = GetParam();
  const Buffer x = param("X", {n}), m = param("M", {n}, DType::Bool),
               y = param("Y", {n}, DType::I32);
  const Var i("i");
  const Stmt body = make_block(
      {make_store(m, {i}, make_load(x, {i}) > Expr(0.0f)),
       make_store(y, {i}, cast(DType::I32, make_load(m, {i})) + make_int(DType::I32, 1))});
  expect_same_everywhere(kernel_of({x, m, y}, make_for(i, 0, n, ForKind::Vectorized, body)));
}

TEST_P(Extents, BuffersInsideAreOneALane) {
  const int64_t n = GetParam();
  const Buffer x = param("X", {n, 3}), y = param("Y", {n});
  for (const BufferScope scope :
       {BufferScope::Stack, BufferScope::Register, BufferScope::Workspace}) {
    const Buffer t = make_buffer("T", DType::F32, {3}, scope);
    const Var i("i"), k("k");
    const Stmt fill =
        make_for(k, 0, 3, ForKind::Unrolled, make_store(t, {k}, make_load(x, {i, k}) * Expr(2.0f)));
    const Stmt use = make_store(y, {i}, make_load(t, {0}) + make_load(t, {2}));
    expect_same_everywhere(kernel_of(
        {x, y}, make_for(i, 0, n, ForKind::Vectorized, make_allocate(t, make_block({fill, use})))));
  }
}

TEST(Vectorize, ExtentsThatAreNotConstantAreTheSame) {
  const Buffer x = param("X", {60, 60}), y = param("Y", {60, 60});
  const Var i("i"), j("j");
  const Stmt inner = make_for(j, Expr(2), i - Expr(5), ForKind::Vectorized,
                              make_store(y, {i, j}, make_load(x, {j, i}) + make_load(x, {i, j})));
  expect_same_everywhere(kernel_of({x, y}, make_for(i, 0, 60, ForKind::Serial, inner)));
}

TEST(Vectorize, SerialLoopInsideStaysAround) {
  const Buffer x = param("X", {5, 40}), y = param("Y", {40});
  const Var i("i"), k("k");
  const Stmt inner = make_for(k, 0, 5, ForKind::Serial,
                              make_store(y, {i}, make_load(y, {i}) + make_load(x, {k, i})));
  const LoweredKernel kernel = kernel_of({x, y}, make_for(i, 0, 40, ForKind::Vectorized, inner));
  expect_same_everywhere(kernel);
  EXPECT_EQ(count_loops(vectorize(kernel.main.body, test::avx512())), 3);
}

TEST(Vectorize, LanesAreThoseOfTheWidestType) {
  const Buffer x = param("X", {64}, DType::F16), y = param("Y", {64}, DType::F64);
  const Var i("i");
  const Stmt loop = make_for(i, 0, 64, ForKind::Vectorized,
                             make_store(y, {i}, cast(DType::F64, make_load(x, {i}))));
  const Stmt result = vectorize(loop, test::avx512());
  EXPECT_EQ(result.as<BlockNode>()->stmts.size(), 8u);
}

TEST(Vectorize, FewVectorsAreStraightCodeAndManyALoop) {
  EXPECT_EQ(count_loops(vectorize(axpy(16 * 16).main.body, test::avx512())), 0);
  EXPECT_EQ(count_loops(vectorize(axpy(16 * 17).main.body, test::avx512())), 1);
}

TEST(Vectorize, RestIsOneMaskedVectorOrPowersOfTwo) {
  const auto stores = [](int64_t n, const Target& target) {
    std::vector<int> lanes;
    visit(
        vectorize(axpy(n).main.body, target),
        [&](const Stmt& s) {
          if (const auto* st = s.as<StoreNode>()) lanes.push_back(st->value.type().lanes);
          return true;
        },
        [](const Expr&) { return false; });
    return lanes;
  };
  EXPECT_EQ(stores(16 + 7, test::avx512()), (std::vector<int>{16, 8}));
  EXPECT_EQ(stores(16 + 4, test::avx512()), (std::vector<int>{16, 4}));
  EXPECT_EQ(stores(16 + 1, test::avx512()), (std::vector<int>{16, 1}));
  EXPECT_EQ(stores(7, parse_target("aarch64").value()), (std::vector<int>{4, 2, 1}));
}

TEST(Vectorize, DependentIterationsStaySerial) {
  // A scan: Y[i+1] = Y[i] + X[i].
  const Buffer x = param("X", {20}), y = param("Y", {21});
  const Var i("i");
  const Stmt scan = make_store(y, {i + Expr(1)}, make_load(y, {i}) + make_load(x, {i}));
  const LoweredKernel kernel = kernel_of({x, y}, make_for(i, 0, 20, ForKind::Vectorized, scan));
  expect_same_everywhere(kernel);
  EXPECT_EQ(count_loops(vectorize(kernel.main.body, test::avx512())), 1);
}

TEST(Vectorize, SubtractionIsNotAReduction) {
  const Buffer x = param("X", {20}), y = param("Y", {1});
  const Var i("i");
  const Stmt body = make_store(y, {0}, make_load(x, {i}) - make_load(y, {0}));
  const LoweredKernel kernel = kernel_of({x, y}, make_for(i, 0, 20, ForKind::Vectorized, body));
  expect_same_everywhere(kernel);
  EXPECT_EQ(count_loops(vectorize(kernel.main.body, test::avx512())), 1);
}

TEST(Vectorize, PartialSumsReadElsewhereStaySerial) {
  const Buffer x = param("X", {20}), s = param("S", {1}), y = param("Y", {20});
  const Var i("i");
  const Stmt body = make_block({make_store(s, {0}, make_load(s, {0}) + make_load(x, {i})),
                                make_store(y, {i}, make_load(s, {0}))});
  expect_same_everywhere(kernel_of({x, s, y}, make_for(i, 0, 20, ForKind::Vectorized, body)));
}

TEST(Vectorize, LaneDependentBoundsStaySerial) {
  const Buffer x = param("X", {20, 20}), y = param("Y", {20});
  const Var i("i"), k("k");
  const Stmt inner = make_for(k, 0, i, ForKind::Serial,
                              make_store(y, {i}, make_load(y, {i}) + make_load(x, {i, k})));
  expect_same_everywhere(kernel_of({x, y}, make_for(i, 0, 20, ForKind::Vectorized, inner)));
}

TEST(Vectorize, ScatteredStoresOfAnInnerLoopStaySerial) {
  // The last of several stores to an element must win.
  const Buffer x = param("X", {20, 3}), y = param("Y", {22});
  const Var i("i"), k("k");
  const Stmt inner =
      make_for(k, 0, 3, ForKind::Serial, make_store(y, {i + k}, make_load(x, {i, k})));
  expect_same_everywhere(kernel_of({x, y}, make_for(i, 0, 20, ForKind::Vectorized, inner)));
}

TEST(Vectorize, ReductionOfSelectedLanes) {
  const Buffer x = param("X", {37}), y = param("Y", {4});
  const Var i("i");
  std::vector<Stmt> parts;
  int64_t k = 0;
  for (const BinaryOp op : {BinaryOp::Add, BinaryOp::Mul, BinaryOp::Min, BinaryOp::Max}) {
    parts.push_back(make_store(y, {k}, make_binary(op, make_load(y, {k}), make_load(x, {i}))));
    ++k;
  }
  const Stmt body = make_if(make_load(x, {i}) > Expr(0.0f), make_block(std::move(parts)));
  expect_same_everywhere(kernel_of({x, y}, make_for(i, 0, 37, ForKind::Vectorized, body)));
}

TEST(Vectorize, AbsentLanesLeaveTheSignOfZero) {
  const Buffer x = param("X", {3}), y = param("Y", {1});
  const Var i("i");
  const Stmt add = make_store(y, {0}, make_load(y, {0}) + make_load(x, {i}));
  const LoweredKernel kernel = kernel_of({x, y}, make_for(i, 0, 3, ForKind::Vectorized, add));
  const JitCode code = JitCode::compile(kernel, host_target()).value();
  test::Aligned<float> in(3);
  for (int64_t k = 0; k < 3; ++k) in[k] = -0.0f;
  float out = -0.0f;
  test::run(code, {in.data(), &out});
  EXPECT_TRUE(std::signbit(out));
}

TEST(Vectorize, BothBranchesSeeTheSameCondition) {
  // The branches change what the condition was read from.
  const Buffer x = param("X", {37});
  const Var i("i");
  const Stmt body = make_if(make_load(x, {i}) > Expr(0.0f), make_store(x, {i}, Expr(-5.0f)),
                            make_store(x, {i}, Expr(5.0f)));
  expect_same_everywhere(kernel_of({x}, make_for(i, 0, 37, ForKind::Vectorized, body)));
}

TEST(Vectorize, DivisionsThatAreProgressionsAreFoundLaneByLane) {
  const Buffer x = param("X", {3, 32}), y = param("Y", {96});
  const Var i("i");
  const Stmt body = make_store(y, {i}, make_load(x, {floordiv(i, 32), floormod(i, 32)}));
  const LoweredKernel kernel = kernel_of({x, y}, make_for(i, 0, 96, ForKind::Vectorized, body));
  expect_same_everywhere(kernel);
  EXPECT_EQ(test::final_text(kernel, test::avx512()).find("floor"), std::string::npos);
}

TEST(Vectorize, LaneValuesOfTheVariableAreData) {
  const Buffer y = param("Y", {21});
  const Var i("i");
  expect_same_everywhere(kernel_of(
      {y}, make_for(i, 3, 18, ForKind::Vectorized, make_store(y, {i}, cast(DType::F32, i * i)))));
}

TEST(Vectorize, UniformConditionStaysABranch) {
  const Buffer x = param("X", {32}), flag = param("F", {1}), y = param("Y", {32});
  const Var i("i");
  const Stmt body =
      make_if(make_load(flag, {0}) > Expr(0.0f), make_store(y, {i}, make_load(x, {i})));
  const LoweredKernel kernel =
      kernel_of({x, flag, y}, make_for(i, 0, 32, ForKind::Vectorized, body));
  expect_same_everywhere(kernel);
  EXPECT_NE(test::final_text(kernel, test::avx512()).find("if "), std::string::npos);
}

TEST(Vectorize, LoopsInsideVectorsOfRegistersNeedConstantIndices) {
  const Buffer x = param("X", {20, 48}), y = param("Y", {48});
  const Buffer acc = make_buffer("A", DType::F32, {48}, BufferScope::Register);
  const Var i("i"), j("j"), l("l"), k("k");
  const Stmt nest = make_allocate(
      acc,
      make_block(
          {make_for(i, 0, 48, ForKind::Vectorized, make_store(acc, {i}, Expr(0.0f))),
           make_for(k, 0, 20, ForKind::Serial,
                    make_for(j, 0, 48, ForKind::Vectorized,
                             make_store(acc, {j}, make_load(acc, {j}) + make_load(x, {k, j})))),
           make_for(l, 0, 48, ForKind::Vectorized, make_store(y, {l}, make_load(acc, {l})))}));
  expect_same_everywhere(kernel_of({x, y}, nest));
}

// Lanes 0..15 all gather through I[0]: no vector, but no loop variable may be left in it.
TEST(Vectorize, IndicesFromDataThatAgreeInAllLanes) {
  const Buffer x = param("X", {3, 22}), at = param("I", {3}, DType::I32), y = param("Y", {66});
  const Var i("i");
  const Expr row = make_cast(kIndex, make_load(at, {floordiv(i, Expr(22))}));
  const Expr value = make_load(x, {floormod(row, Expr(3)), floormod(i, Expr(22))});
  expect_same_everywhere(
      kernel_of({x, at, y}, make_for(i, 0, 66, ForKind::Vectorized, make_store(y, {i}, value))));
}

}  // namespace
}  // namespace espalier
