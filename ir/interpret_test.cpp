// The interpreter of ir/evaluate.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "espalier/ir/evaluate.h"

namespace espalier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Role = LoweredFunc::Role;

Buffer param(std::string name, DType t, std::vector<int64_t> shape) {
  return make_buffer(std::move(name), t, std::move(shape), BufferScope::Param);
}

Result<void> run(const Stmt& body, const std::vector<std::pair<Buffer, void*>>& args) {
  LoweredFunc f;
  f.name = "f";
  f.body = body;
  std::vector<void*> pointers;
  for (const auto& [buffer, pointer] : args) {
    f.params.push_back({buffer, Role::Output, -1});
    pointers.push_back(pointer);
  }
  return interpret(f, pointers);
}

struct Interpret : testing::Test {
  Var i{"i"}, j{"j"}, k{"k"};
  Stmt loop(const Var& v, const Expr& extent, Stmt body) {
    return make_for(v, 0, extent, ForKind::Serial, std::move(body));
  }
};

TEST_F(Interpret, Matmul) {
  Buffer a = param("A", DType::F32, {2, 3}), b = param("B", DType::F32, {3, 2}),
         c = param("C", DType::F32, {2, 2});
  float x[] = {1, 2, 3, 4, 5, 6}, y[] = {1, 0, 2, 1, 0, 3}, z[4];
  const Stmt body =
      loop(i, 2,
           loop(j, 2,
                make_block({make_store(c, {i, j}, 0.0f),
                            loop(k, 3,
                                 make_store(c, {i, j},
                                            make_load(c, {i, j}) +
                                                make_load(a, {i, k}) * make_load(b, {k, j})))})));
  ASSERT_TRUE(run(body, {{a, x}, {b, y}, {c, z}}));
  EXPECT_THAT(z, ElementsAre(5, 11, 14, 23));
}

TEST_F(Interpret, LoopsOfNegativeExtentAreEmpty) {
  Buffer a = param("A", DType::I32, {1});
  int x = 7;
  ASSERT_TRUE(
      run(make_for(i, 0, -3, ForKind::Parallel, make_store(a, {0}, make_int(DType::I32, 0))),
          {{a, &x}}));
  EXPECT_EQ(x, 7);
}

TEST_F(Interpret, VectorsRampsAndGathers) {
  Buffer a = param("A", DType::I32, {8}), n = param("N", DType::I64, {4}),
         o = param("O", DType::I32, {8});
  int x[] = {0, 10, 20, 30, 40, 50, 60, 70}, z[8] = {};
  int64_t at[] = {7, 0, 3, 3};
  const Expr gather = make_load(a, {make_load(n, {make_ramp(0, 1, 4)})});
  const Expr strided = make_load(a, {make_ramp(6, -2, 4)});
  ASSERT_TRUE(run(make_block({make_store(o, {make_ramp(0, 2, 4)}, gather),
                              make_store(o, {make_ramp(1, 2, 4)}, strided)}),
                  {{a, x}, {n, at}, {o, z}}));
  EXPECT_THAT(z, ElementsAre(70, 60, 0, 40, 30, 20, 30, 0));
}

TEST_F(Interpret, PredicatedLanesTouchNothing) {
  Buffer a = param("A", DType::F32, {3}), o = param("O", DType::F32, {3});
  float x[] = {1, 2, 3}, z[] = {9, 9, 9};
  const Expr lanes = make_ramp(0, 1, 4), mask = lanes < 3;
  ASSERT_TRUE(
      run(make_store(o, {lanes}, make_load(a, {lanes}, mask), lanes < 2), {{a, x}, {o, z}}));
  EXPECT_THAT(z, ElementsAre(1, 2, 9));
}

TEST_F(Interpret, LanesThatAreOffReadZero) {
  Buffer a = param("A", DType::F32, {4}), o = param("O", DType::F32, {4});
  float x[] = {1, 2, 3, 4}, z[4];
  const Expr lanes = make_ramp(0, 1, 4);
  ASSERT_TRUE(run(make_store(o, {lanes}, make_load(a, {lanes}, lanes != 1)), {{a, x}, {o, z}}));
  EXPECT_THAT(z, ElementsAre(1, 0, 3, 4));
}

TEST_F(Interpret, LaneReduceIsATreeOfHalves) {
  Buffer a = param("A", DType::F32, {5}), o = param("O", DType::F32, {});
  // ((1e8 + 1) + -1e8) + (1 + 1): the one beside 1e8 is lost.
  float x[] = {1e8f, 1, -1e8f, 1, 1}, z;
  ASSERT_TRUE(
      run(make_store(o, {}, make_lane_reduce(BinaryOp::Add, make_load(a, {make_ramp(0, 1, 5)}))),
          {{a, x}, {o, &z}}));
  EXPECT_EQ(z, ((1e8f + 1.0f) + -1e8f) + (1.0f + 1.0f));
}

TEST_F(Interpret, ScalarSelectReadsOnlyItsSide) {
  Buffer a = param("A", DType::F32, {2}), o = param("O", DType::F32, {4});
  float x[] = {1, 2}, z[4];
  ASSERT_TRUE(run(loop(i, 4, make_store(o, {i}, select(i < 2, make_load(a, {i}), 0.0f))),
                  {{a, x}, {o, z}}));
  EXPECT_THAT(z, ElementsAre(1, 2, 0, 0));
}

TEST_F(Interpret, ReadsOutsideAreNamed) {
  Buffer a = param("A", DType::F32, {2, 4}), o = param("O", DType::F32, {8});
  float x[8] = {}, z[8];
  const auto r =
      run(loop(i, 2, loop(j, 5, make_store(o, {i + j}, make_load(a, {i, j})))), {{a, x}, {o, z}});
  ASSERT_FALSE(r);
  EXPECT_EQ(to_string(r.error()),
            "read at index 4 in dimension 1 of 'A', whose extent is 4\n"
            "  note: in 'O[i + j] = A[i, j]' with i = 0, j = 4");
}

TEST_F(Interpret, WritesOutsideAreRefused) {
  Buffer o = param("O", DType::F32, {4});
  float z[4];
  const auto r =
      run(make_store(o, {make_ramp(1, 1, 4)}, make_float(Type(DType::F32, 4), 1)), {{o, z}});
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message, HasSubstr("write at index 4"));
}

TEST_F(Interpret, FlatOffsetsOutsideAreRefused) {
  Buffer o = param("O", DType::F32, {2, 2});
  float z[4];
  EXPECT_TRUE(run(make_flat_store(o, 3, 1.0f), {{o, z}}));
  EXPECT_FALSE(run(make_flat_store(o, 4, 1.0f), {{o, z}}));
  EXPECT_FALSE(run(make_flat_store(o, -1, 1.0f), {{o, z}}));
}

TEST_F(Interpret, ReadsOfUnwrittenElementsAreFound) {
  Buffer t = make_buffer("T", DType::F32, {4}, BufferScope::Stack), o = param("O", DType::F32, {4});
  float z[4];
  const auto with = [&](int written) {
    return run(make_allocate(t, make_block({loop(i, written, make_store(t, {i}, 1.0f)),
                                            loop(j, 4, make_store(o, {j}, make_load(t, {j})))})),
               {{o, z}});
  };
  EXPECT_TRUE(with(4));
  const auto r = with(3);
  ASSERT_FALSE(r);
  EXPECT_THAT(to_string(r.error()), HasSubstr("element 3 of 'T', which was never written"));
  EXPECT_THAT(to_string(r.error()), HasSubstr("O[j] = T[j]"));
}

TEST_F(Interpret, AllocationsStartUnwrittenEachTime) {
  Buffer t = make_buffer("T", DType::F32, {1}, BufferScope::Workspace),
         o = param("O", DType::F32, {1});
  float z;
  const Stmt body = make_block(
      {make_if(i == 0, make_store(t, {0}, 1.0f)), make_store(o, {0}, make_load(t, {0}))});
  const auto r = run(loop(i, 2, make_allocate(t, body)), {{o, &z}});
  ASSERT_FALSE(r);
  EXPECT_THAT(to_string(r.error()), HasSubstr("i = 1"));
}

TEST_F(Interpret, LetAndVectorLet) {
  Buffer o = param("O", DType::F32, {4});
  float z[4];
  Var v("v", Type(DType::F32, 4)), n("n");
  const Expr lanes = make_ramp(n, 1, 4);
  ASSERT_TRUE(run(
      make_let(n, Expr(1) - 1,
               make_let(v, make_cast(Type(DType::F32, 4), lanes), make_store(o, {lanes}, v * v))),
      {{o, z}}));
  EXPECT_THAT(z, ElementsAre(0, 1, 4, 9));
}

TEST_F(Interpret, ValuesAreSharedOnlyWithinOneEvaluation) {
  Buffer a = param("A", DType::I64, {1});
  int64_t x = 1;
  const Expr twice = make_load(a, {0}) * 2;  // one node, several statements
  ASSERT_TRUE(
      run(make_block({make_store(a, {0}, twice + twice), make_store(a, {0}, twice + twice)}),
          {{a, &x}}));
  EXPECT_EQ(x, 16);
}

TEST_F(Interpret, CopiesOfALoopMayShareItsVariable) {
  Buffer o = param("O", DType::I64, {4});
  int64_t z[4];
  const Stmt store = make_store(o, {i}, i * 3);
  ASSERT_TRUE(run(make_block({make_for(i, 0, 2, ForKind::Serial, store),
                              make_for(i, 2, 2, ForKind::Serial, store)}),
                  {{o, z}}));
  EXPECT_THAT(z, ElementsAre(0, 3, 6, 9));
}

// D1, D3 in a loop: NaN passes through max whichever side it is on.
TEST_F(Interpret, MaxKeepsNaN) {
  Buffer a = param("A", DType::F32, {4}), o = param("O", DType::F32, {});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int at = 0; at < 4; ++at) {
    float x[] = {1, 2, 3, 4}, z = -std::numeric_limits<float>::infinity();
    x[at] = nan;
    ASSERT_TRUE(run(loop(i, 4, make_store(o, {}, max(make_load(o, {}), make_load(a, {i})))),
                    {{a, x}, {o, &z}}));
    EXPECT_TRUE(std::isnan(z)) << at;
  }
}

// D7, in one vector as in scalars.
TEST_F(Interpret, CastsOfSpecialValuesInEveryWidth) {
  Buffer a = param("A", DType::F32, {6}), o = param("O", DType::I8, {6});
  const float inf = std::numeric_limits<float>::infinity();
  float x[] = {300, std::numeric_limits<float>::quiet_NaN(), inf, -inf, 50, -50};
  int8_t scalar[6], vector[6];
  ASSERT_TRUE(run(loop(i, 6, make_store(o, {i}, cast(DType::I8, make_load(a, {i})))),
                  {{a, x}, {o, scalar}}));
  const Expr lanes = make_ramp(0, 1, 6);
  ASSERT_TRUE(
      run(make_store(o, {lanes}, cast(DType::I8, make_load(a, {lanes}))), {{a, x}, {o, vector}}));
  EXPECT_THAT(scalar, ElementsAre(127, 0, 127, -128, 50, -50));
  EXPECT_THAT(vector, ElementsAre(127, 0, 127, -128, 50, -50));
}

// A14: 100 / (27 - x) over a vector axis rounded up from 25 to 32.
TEST_F(Interpret, RoundedUpLanesDoNotTrap) {
  Buffer o = param("O", DType::I32, {25});
  int z[25];
  const Expr x = make_ramp(i * 8, 1, 8);
  const Expr value = make_int(Type(DType::I32, 8), 100) /
                     (make_int(Type(DType::I32, 8), 27) - cast(DType::I32, x));
  ASSERT_TRUE(run(loop(i, 4, make_store(o, {x}, value, x < 25)), {{o, z}}));
  EXPECT_EQ(z[0], 3);
  EXPECT_EQ(z[24], 33);
}

// I11: offsets past 2^31, of a buffer of which only the last element exists.
TEST_F(Interpret, OffsetsPastTwoToThe31) {
  Buffer a = param("A", DType::U8, {70000, 70000}), o = param("O", DType::U8, {});
  uint8_t last = 42, z = 0;
  const uintptr_t base = reinterpret_cast<uintptr_t>(&last) - uintptr_t{4899999999};
  ASSERT_TRUE(run(make_store(o, {}, make_load(a, {69999, 69999})),
                  {{a, reinterpret_cast<void*>(base)}, {o, &z}}));
  EXPECT_EQ(z, 42);
}

TEST_F(Interpret, StridesMayBeZeroOrNegative) {
  BufferNode node;
  node.name = "A";
  node.dtype = DType::I64;
  node.shape = {2, 3};
  node.strides = {0, -1};
  Buffer a{Ref<const BufferNode>(make_ref<BufferNode>(node))}, o = param("O", DType::I64, {2, 3});
  int64_t x[] = {1, 2, 3}, z[6];
  ASSERT_TRUE(run(loop(i, 2, loop(j, 3, make_store(o, {i, j}, make_load(a, {i, j})))),
                  {{a, x + 2}, {o, z}}));
  EXPECT_THAT(z, ElementsAre(3, 2, 1, 3, 2, 1));
  EXPECT_TRUE(run(make_store(o, {0, 0}, make_flat_load(a, -2)), {{a, x + 2}, {o, z}}));
  EXPECT_FALSE(run(make_store(o, {0, 0}, make_flat_load(a, 1)), {{a, x + 2}, {o, z}}));
}

TEST_F(Interpret, PrefetchesNeverFault) {
  Buffer a = param("A", DType::F32, {4});
  float x[4];
  EXPECT_TRUE(run(make_prefetch(a, {1000}, false, 3), {{a, x}}));
}

TEST_F(Interpret, UnboundNamesAreErrors) {
  Buffer a = param("A", DType::I64, {4}), b = param("B", DType::I64, {4});
  int64_t x[4];
  const auto var = run(make_store(a, {0}, i), {{a, x}});
  ASSERT_FALSE(var);
  EXPECT_EQ(var.error().message, "variable 'i' is not bound");
  EXPECT_FALSE(run(make_store(a, {0}, make_load(b, {0})), {{a, x}}));
  LoweredFunc f;
  f.params = {{a, Role::Output, -1}};
  EXPECT_FALSE(interpret(f, {}));
}

TEST_F(Interpret, HalvesRoundEveryOperation) {
  Buffer a = param("A", DType::F16, {3}), o = param("O", DType::F16, {});
  // 2048 + 1 is a tie in f16, to even: adding 1 twice changes nothing.
  uint16_t x[] = {0x6800, 0x3c00, 0x3c00}, z = 0;
  ASSERT_TRUE(
      run(loop(i, 3, make_store(o, {}, make_load(o, {}) + make_load(a, {i}))), {{a, x}, {o, &z}}));
  EXPECT_EQ(z, 0x6800);
}

}  // namespace
}  // namespace espalier
