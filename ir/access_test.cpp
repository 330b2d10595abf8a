#include "espalier/ir/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(const Tensor& output) {
  Result<ComputeDag> dag = ComputeDag::make({output});
  return dag.ok() ? "no error" : dag.error().message;
}

TEST(Access, StridedWindow) {
  Tensor x = placeholder("X", {1, 14, 8});
  Axis kh = reduce_axis("kh", 3);
  Tensor y = compute("Y", {1, 6, 8},
                     [&](Var n, Var h, Var c) { return sum(x(n, h * 2 + kh - 1 + 1, c), kh); });
  const ComputeDag dag = ComputeDag::make({y}).value();
  const Access& a = dag.stage(1).accesses.at(0);
  EXPECT_TRUE(a.linear[1].affine);
  EXPECT_EQ(a.linear[1].offset, 0);
  EXPECT_THAT(a.linear[1].coef, ElementsAre(0, 2, 0, 1));
}

TEST(Access, DivisionIsNotAffineButTellsItsAxes) {
  Tensor x = placeholder("X", {4});
  Tensor y = compute("Y", {8, 3}, [&](Var i, Var) { return x(floordiv(i, 2)); });
  const ComputeDag dag = ComputeDag::make({y}).value();
  const LinearIndex& f = dag.stage(1).accesses.at(0).linear[0];
  EXPECT_FALSE(f.affine);
  EXPECT_NE(f.coef[0], 0);
  EXPECT_EQ(f.coef[1], 0);
}

TEST(Access, DivisionThatComesOutEvenIsAffine) {
  Tensor x = placeholder("X", {8});
  Tensor y = compute("Y", {8, 4}, [&](Var i, Var j) { return x(floordiv(i * 4 + j, 4)); });
  const ComputeDag dag = ComputeDag::make({y}).value();
  const LinearIndex& f = dag.stage(1).accesses.at(0).linear[0];
  EXPECT_TRUE(f.affine);
  EXPECT_THAT(f.coef, ElementsAre(1, 0));
}

TEST(Access, DataMayDependOnEveryAxis) {
  Tensor table = constant("W", {10, 4});
  Tensor x = placeholder("X", {3}, DType::I64, std::pair<int64_t, int64_t>{0, 10});
  Tensor y = compute("Y", {3, 4}, [&](Var r, Var c) { return table(x(r), c); });
  const ComputeDag dag = ComputeDag::make({y}).value();
  const Access& a = dag.stage(dag.find("Y")).accesses.at(0);
  EXPECT_EQ(dag.stage(a.producer).name, "W");
  EXPECT_FALSE(a.linear[0].affine);
  EXPECT_THAT(a.linear[0].coef, ElementsAre(1, 1));
  EXPECT_TRUE(a.linear[1].affine);
}

TEST(Access, EqualReadsAreOne) {
  Tensor x = placeholder("X", {4});
  Tensor y = compute("Y", {3}, [&](Var i) { return x(i) * x(i) + x(i + 1); });
  EXPECT_EQ(ComputeDag::make({y}).value().stage(1).accesses.size(), 2u);
}

TEST(Access, ConditionComesBeforeTheValue) {
  Tensor x = placeholder("X", {4}), mask = placeholder("mask", {4});
  Axis k = reduce_axis("k", 4);
  Tensor y = compute("Y", {}, [&] { return sum(x(k), k, mask(k) > 0.0f); });
  const ComputeDag dag = ComputeDag::make({y}).value();
  const StageInfo& s = dag.stage(dag.find("Y"));
  EXPECT_EQ(dag.stage(s.accesses[0].producer).name, "mask");
  EXPECT_EQ(dag.stage(s.accesses[1].producer).name, "X");
}

TEST(AccessErrors, TableShorterThanTheLoop) {  // B11
  Tensor table = constant("table", {3});
  Tensor y = compute("Y", {64}, [&](Var k) { return table(k); });
  EXPECT_THAT(error_of(y), AllOf(HasSubstr("'table'"), HasSubstr("0 to 63"), HasSubstr("is 3")));
}

TEST(AccessErrors, NegativeOffset) {
  Tensor x = placeholder("X", {8});
  Tensor y = compute("Y", {8}, [&](Var i) { return x(i - 1); });
  EXPECT_THAT(error_of(y), HasSubstr("-1 to 6"));
}

TEST(AccessErrors, DivisionThatLeaves) {
  Tensor x = placeholder("X", {11});
  Tensor in = compute("Y", {8}, [&](Var i) { return x(floordiv(i * 3, 2)); });
  EXPECT_EQ(error_of(in), "no error");
  Tensor out = compute("Y", {9}, [&](Var i) { return x(floordiv(i * 3, 2)); });
  EXPECT_THAT(error_of(out), HasSubstr("0 to 12"));
}

TEST(Access, IndicesThatIntervalsCannotBoundAreTried) {
  Tensor x = placeholder("X", {4});
  Tensor y = compute("Y", {8}, [&](Var i) { return x(i - floordiv(i, 2) * 2 + floormod(i, 3)); });
  EXPECT_EQ(error_of(y), "no error");
}

TEST(AccessErrors, WrappingIndex) {
  Tensor x = placeholder("X", {4});
  Tensor y = compute("Y", {1 << 20}, [&](Var i) { return x(i * INT64_MAX); });
  EXPECT_THAT(error_of(y), HasSubstr("not known to stay below 4"));
}

TEST(Access, GuardedReadsMayReachOutside) {
  Tensor x = placeholder("X", {8});
  Axis k = reduce_axis("k", 3);
  Tensor y =
      compute("Y", {8}, [&](Var i) { return sum(x(i + k - 1), {k}, i + k >= 1 && i + k - 1 < 8); });
  EXPECT_EQ(error_of(y), "no error");
  Tensor z = compute("Z", {8}, [&](Var i) { return select(i > 0, x(i - 1), 0.0f); });
  EXPECT_EQ(error_of(z), "no error");
}

TEST(AccessErrors, DataWithoutARange) {
  Tensor table = constant("W", {10});
  Tensor x = placeholder("X", {3}, DType::I32);
  Tensor y = compute("Y", {3}, [&](Var r) { return table(x(r)); });
  EXPECT_THAT(error_of(y), AllOf(HasSubstr("from data"), HasSubstr("range of values")));
}

TEST(AccessErrors, DataWithTooWideARange) {
  Tensor table = constant("W", {10});
  Tensor x = placeholder("X", {3}, DType::I32, std::pair<int64_t, int64_t>{0, 11});
  Tensor y = compute("Y", {3}, [&](Var r) { return table(x(r)); });
  EXPECT_THAT(error_of(y), HasSubstr("0 to 10"));
}

TEST(Access, ClampedDataNeedsNoRange) {
  Tensor table = constant("W", {10});
  Tensor x = placeholder("X", {3}, DType::I32);
  Tensor y =
      compute("Y", {3}, [&](Var r) { return table(max(min(cast(DType::I64, x(r)), 9), 0)); });
  EXPECT_EQ(error_of(y), "no error");
}

TEST(Access, NegativeIndicesCountFromTheEnd) {  // I1
  Tensor table = placeholder("T", {5});
  Tensor x = placeholder("X", {3}, DType::I64, std::pair<int64_t, int64_t>{-5, 5});
  Tensor y = compute("Y", {3}, [&](Var r) { return table(select(x(r) < 0, x(r) + 5, x(r))); });
  EXPECT_EQ(error_of(y), "no error");
}

TEST(Access, BoolsAreIndices) {  // B11
  Tensor table = placeholder("T", {2});
  Tensor y = compute("Y", {8}, [&](Var c) { return table(cast(DType::I64, c <= 4)); });
  EXPECT_EQ(error_of(y), "no error");
}

}  // namespace
}  // namespace espalier
