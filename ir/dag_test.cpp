#include "espalier/ir/dag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(std::vector<Tensor> outputs) {
  Result<ComputeDag> dag = ComputeDag::make(std::move(outputs));
  return dag.ok() ? "no error" : dag.error().message;
}

Tensor matmul(int64_t m, int64_t n, int64_t k) {
  Tensor a = placeholder("A", {m, k}), b = placeholder("B", {k, n});
  Axis r = reduce_axis("k", k);
  return compute("C", {m, n}, [&](Var i, Var j) { return sum(a(i, r) * b(r, j), r); });
}

TEST(Dag, OrdersProducersFirst) {
  Tensor c = matmul(4, 5, 6);
  Tensor bias = placeholder("bias", {5});
  Tensor y = compute("Y", {4, 5}, [&](Var i, Var j) { return c(i, j) + bias(j); });
  ComputeDag dag = ComputeDag::make({y}).value();
  std::vector<std::string> names;
  for (const StageInfo& s : dag.stages()) names.push_back(s.name);
  EXPECT_THAT(names, ElementsAre("A", "B", "C", "bias", "Y"));
  EXPECT_THAT(dag.inputs(), ElementsAre(0, 1, 3));
  EXPECT_THAT(dag.outputs(), ElementsAre(4));
  EXPECT_THAT(dag.stage(2).consumers, ElementsAre(4));
}

TEST(Dag, FlagsStages) {
  Tensor c = matmul(4, 5, 6);
  Tensor bias = placeholder("bias", {5});
  Tensor r = compute("R", {4, 5}, [&](Var i, Var j) { return max(c(i, j) + bias(j), 0.0f); });
  Tensor t = compute("T", {5, 4}, [&](Var i, Var j) { return r(j, i) * 2.0f; });
  ComputeDag dag = ComputeDag::make({t}).value();
  const StageInfo& product = dag.stage(dag.find("C"));
  EXPECT_TRUE(product.anchor);
  EXPECT_FALSE(product.elementwise);
  EXPECT_FALSE(product.inlineable);
  EXPECT_EQ(product.flops, 4 * 5 * 6 * 2);
  const StageInfo& relu = dag.stage(dag.find("R"));
  EXPECT_TRUE(relu.elementwise);
  EXPECT_TRUE(relu.inlineable);
  EXPECT_EQ(relu.flops, 4 * 5 * 2);
  const StageInfo& transposed = dag.stage(dag.find("T"));
  EXPECT_FALSE(transposed.elementwise);
  EXPECT_TRUE(transposed.is_output);
  EXPECT_FALSE(transposed.inlineable);
}

TEST(Dag, RowSumIsNoAnchor) {
  Tensor x = placeholder("X", {4, 5});
  Axis k = reduce_axis("k", 5);
  Tensor s = compute("S", {4}, [&](Var i) { return sum(x(i, k), k); });
  EXPECT_FALSE(ComputeDag::make({s}).value().stage(1).anchor);
}

TEST(Dag, ZeroDimensionalOutput) {  // J3
  Tensor x = placeholder("X", {7});
  Axis k = reduce_axis("k", 7);
  Tensor s = compute("S", {}, [&] { return sum(x(k), k); });
  ComputeDag dag = ComputeDag::make({s}).value();
  EXPECT_TRUE(dag.stage(1).axes.empty());
  EXPECT_EQ(dag.stage(1).reduce_axes.size(), 1u);
}

TEST(Dag, TwoOutputs) {  // J3
  Tensor x = placeholder("X", {7});
  Tensor a = compute("a", {7}, [&](Var i) { return x(i) + 1.0f; });
  Tensor b = compute("b", {7}, [&](Var i) { return a(i) * 2.0f; });
  ComputeDag dag = ComputeDag::make({b, a}).value();
  EXPECT_THAT(dag.outputs(), ElementsAre(2, 1));
  EXPECT_TRUE(dag.stage(1).is_output);
}

TEST(Dag, EmptyExtentsAreLegal) {
  Tensor x = placeholder("X", {0, 10});
  Axis k = reduce_axis("k", 10);
  Tensor s = compute("S", {0}, [&](Var i) { return sum(x(i, k), k); });
  EXPECT_EQ(ComputeDag::make({s}).value().stage(1).flops, 0);
}

TEST(Dag, RepeatedNamesGetSuffixes) {
  Tensor x = placeholder("X", {3});
  Tensor a = compute("X", {3}, [&](Var i) { return x(i) + 1.0f; });
  Tensor b = compute("a layer/0", {3}, [&](Var i) { return a(i) + 1.0f; });
  ComputeDag dag = ComputeDag::make({b}).value();
  EXPECT_EQ(dag.stage(0).name, "X");
  EXPECT_EQ(dag.stage(1).name, "X_1");
  EXPECT_EQ(dag.stage(2).name, "a_layer_0");
}

TEST(Dag, HashIgnoresNamesOnly) {
  auto make = [](const char* name, float factor, int64_t extent) {
    Tensor x = placeholder(name, {extent});
    Tensor y = compute(name, {extent}, [&](Var i) { return x(i) * factor; });
    return ComputeDag::make({y}).value().hash();
  };
  EXPECT_EQ(make("a", 2, 5), make("b", 2, 5));
  EXPECT_NE(make("a", 2, 5), make("a", 3, 5));
  EXPECT_NE(make("a", 2, 5), make("a", 2, 6));
}

TEST(Dag, HashTellsIndicesApart) {
  auto make = [](bool transposed) {
    Tensor x = placeholder("x", {5, 5});
    Tensor y = compute("y", {5, 5}, [&](Var i, Var j) { return transposed ? x(j, i) : x(i, j); });
    return ComputeDag::make({y}).value().hash();
  };
  EXPECT_NE(make(true), make(false));
}

TEST(DagErrors, WrongRankNamesBothTensors) {
  Tensor x = placeholder("X", {3, 3});
  Tensor y = compute("Y", {3}, [&](Var i) { return x(i) + 1.0f; });
  EXPECT_THAT(error_of({y}), AllOf(HasSubstr("'Y'"), HasSubstr("'X'"), HasSubstr("2 dimensions"),
                                   HasSubstr("1 indices")));
}

TEST(DagErrors, PoisonSurfacesThroughConsumers) {
  Tensor x = placeholder("X", {3, 3});
  Tensor y = compute("Y", {3}, [&](Var i) { return x(i); });
  Tensor z = compute("Z", {3}, [&](Var i) { return max(y(i) * 2.0f, 0.0f); });
  EXPECT_THAT(error_of({z}), AllOf(HasSubstr("'Y'"), HasSubstr("2 dimensions")));
}

TEST(DagErrors, FloatIndex) {
  Tensor x = placeholder("X", {3});
  Tensor y = compute("Y", {3}, [&](Var i) { return x(x(i)); });
  EXPECT_THAT(error_of({y}), AllOf(HasSubstr("index 0 of 'X'"), HasSubstr("f32")));
}

TEST(DagErrors, ReductionInsideAnExpression) {
  Tensor x = placeholder("X", {3});
  Axis k = reduce_axis("k", 3);
  Tensor y = compute("Y", {}, [&] { return sum(x(k), k) * 2.0f; });
  EXPECT_THAT(error_of({y}), AllOf(HasSubstr("'Y'"), HasSubstr("whole body")));
}

TEST(DagErrors, ForeignVariable) {
  Tensor x = placeholder("X", {3});
  Var stray("stray");
  Tensor y = compute("Y", {3}, [&](Var) { return x(stray); });
  EXPECT_THAT(error_of({y}), HasSubstr("'stray'"));
}

TEST(DagErrors, NegativeExtent) {
  Tensor x = placeholder("X", {3, -1});
  Tensor y = compute("Y", {3}, [&](Var i) { return x(i, 0); });
  EXPECT_THAT(error_of({y}), AllOf(HasSubstr("'X'"), HasSubstr("-1")));
}

TEST(DagErrors, TooManyBytes) {
  Tensor x = placeholder("X", {INT64_MAX / 2, 4});
  Tensor y = compute("Y", {1}, [&](Var i) { return x(i, 0); });
  EXPECT_THAT(error_of({y}), AllOf(HasSubstr("'X'"), HasSubstr("2^62")));
}

TEST(DagErrors, NoOutputs) { EXPECT_THAT(error_of({}), HasSubstr("needs an output")); }

TEST(DagErrors, DuplicateOutput) {
  Tensor c = matmul(2, 2, 2);
  EXPECT_THAT(error_of({c, c}), AllOf(HasSubstr("'C'"), HasSubstr("twice")));
}

TEST(DagErrors, PlaceholderAsOutput) {
  EXPECT_THAT(error_of({placeholder("X", {3})}), AllOf(HasSubstr("'X'"), HasSubstr("input")));
}

TEST(DagErrors, UndefinedOutput) { EXPECT_THAT(error_of({Tensor()}), HasSubstr("never defined")); }

TEST(DagErrors, MoreDimensionsThanAnybodyNeedsAreRefused) {
  const Tensor x = placeholder("X", std::vector<int64_t>(65, 1));
  const Tensor y = compute_over("Y", std::vector<int64_t>(65, 1), [&](const std::vector<Var>& v) {
    return x.at({v.begin(), v.end()});
  });
  EXPECT_THAT(error_of({y}), HasSubstr("65 dimensions, and 64 is the most"));
}

TEST(DagErrors, MoreTensorsThanADagHoldsAreRefused) {
  Tensor t = placeholder("X", {4});
  for (int n = 0; n < 40000; ++n) {
    t = compute("T" + std::to_string(n), {4}, [&](Var i) { return t(i) + 1.0f; });
  }
  EXPECT_THAT(error_of({t}), HasSubstr("at most 4096 tensors"));
}

TEST(DagErrors, DeepNestingIsRefused) {
  Tensor x = placeholder("X", {3});
  Tensor y = compute("Y", {3}, [&](Var i) {
    Expr e = x(i);
    for (int n = 0; n < 2000; ++n) e = e + x(i);
    return e;
  });
  EXPECT_THAT(error_of({y}), AllOf(HasSubstr("'Y'"), HasSubstr("deeper")));
}

TEST(Dag, LongChainsOfTensors) {
  Tensor x = placeholder("X", {3});
  for (int n = 0; n < 3000; ++n) {
    x = compute("x", {3}, [&](Var i) { return x(i) + 1.0f; });
  }
  EXPECT_EQ(ComputeDag::make({x}).value().size(), 3001);
}

}  // namespace
}  // namespace espalier
