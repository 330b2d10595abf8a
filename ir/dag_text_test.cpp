#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "espalier/ir/dag.h"
#include "espalier/support/rng.h"

namespace espalier {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ComputeDag matmul_relu() {
  Tensor a = placeholder("A", {4, 6}), b = constant("B", {6, 5});
  Axis k = reduce_axis("k", 6);
  Tensor c = compute("C", {4, 5}, [&](Var i, Var j) { return sum(a(i, k) * b(k, j), k); });
  Tensor r = compute("R", {4, 5}, [&](Var i, Var j) { return max(c(i, j), 0.0f); });
  return ComputeDag::make({r}).value();
}

std::string error_of(std::string_view text) {
  Result<ComputeDag> dag = parse_dag(text);
  return dag.ok() ? "no error" : to_string(dag.error());
}

void expect_round_trip(const ComputeDag& dag) {
  const std::string text = to_string(dag);
  Result<ComputeDag> again = parse_dag(text);
  ASSERT_TRUE(again.ok()) << to_string(again.error()) << "\n" << text;
  EXPECT_EQ(again->hash(), dag.hash()) << text;
  EXPECT_EQ(to_string(*again), text);
  EXPECT_EQ(again->flops(), dag.flops()) << text;
}

TEST(DagText, Matmul) {
  EXPECT_EQ(to_string(matmul_relu()),
            "A = placeholder f32[4, 6]\n"
            "B = constant f32[6, 5]\n"
            "C[i: 4, j: 5] = sum[k: 6](A[i, k] * B[k, j])\n"
            "R[i: 4, j: 5] = max(C[i, j], 0.0f32)\n"
            "return R\n");
}

TEST(DagText, MatmulParsesBack) { expect_round_trip(matmul_relu()); }

TEST(DagText, RangesConditionsAndZeroDimensions) {
  Tensor x = placeholder("X", {9}, DType::I32, std::pair<int64_t, int64_t>{-3, 9});
  Tensor t = placeholder("T", {9}, DType::F64);
  Axis k = reduce_axis("k", 9);
  Tensor y = compute("Y", {}, [&] {
    return min_over(t(max(cast(DType::I64, x(k)), 0)), {k}, x(k) != 2 && k > 1);
  });
  const ComputeDag dag = ComputeDag::make({y}).value();
  EXPECT_THAT(to_string(dag), AllOf(HasSubstr("i32[9] in [-3, 9)"), HasSubstr("Y[] = min[k: 9]")));
  expect_round_trip(dag);
}

TEST(DagText, EveryTypeOfConstant) {
  std::vector<Tensor> outputs;
  for (DType t : {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I8, DType::I16,
                  DType::I32, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64}) {
    Tensor x = placeholder("X", {3}, t);
    std::vector<Expr> values;
    if (is_float(t)) {
      for (double v : {0.1, -0.0, 1e-30, 3.0, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
        values.push_back(make_float(t, v));
      }
    } else {
      for (int64_t v : {int_min(t), int_max(t), int64_t{1}}) values.push_back(make_int(t, v));
    }
    for (const Expr& v : values) {
      outputs.push_back(compute("Y", {3}, [&](Var i) { return max(x(i), v); }));
    }
  }
  expect_round_trip(ComputeDag::make(outputs).value());
}

TEST(DagText, CustomCombiners) {
  Tensor x = placeholder("X", {7});
  Axis k = reduce_axis("k", 7);
  Combiner c = Combiner::of(Combiner::Kind::Custom);
  c.name = "minus";
  c.lhs = Var("a", DType::F32);
  c.rhs = Var("b", DType::F32);
  c.body = c.lhs - c.rhs;
  c.custom_identity = Expr(0.0f);
  c.reorderable = false;
  Tensor y = compute("Y", {}, [&] { return make_reduce(c, x(k), {k}); });
  const ComputeDag dag = ComputeDag::make({y}).value();
  EXPECT_EQ(to_string(dag),
            "combiner minus(a: f32, b: f32) = a - b, identity=0.0f32\n"
            "X = placeholder f32[7]\n"
            "Y[] = ordered minus[k: 7](X[k])\n"
            "return Y\n");
  expect_round_trip(dag);
}

TEST(DagText, AwkwardNames) {
  Tensor x = placeholder("sum", {3});
  Axis k = reduce_axis("return", 3);
  Tensor y = compute("combiner", {3}, [&](Var i) { return sum(x(k) * x(i), k); });
  Tensor z = compute("return", {3}, [&](Var i) { return y(i) + x(i); });
  Tensor w = compute("a/b c", {3}, [&](Var i) { return exp(z(i)); });
  expect_round_trip(ComputeDag::make({w, y}).value());
}

TEST(DagText, LoopsOfOneNameAreToldApart) {
  Tensor x = placeholder("X", {3, 3});
  Axis k = reduce_axis("k", 3), k2 = reduce_axis("k", 3);
  Tensor y = compute("Y", {}, [&] { return sum(x(k, k2), {k, k2}); });
  expect_round_trip(ComputeDag::make({y}).value());
}

TEST(DagText, NumbersWithoutSuffixTakeTheOtherType) {
  const ComputeDag dag = parse_dag(R"(
      X = placeholder f64[4]   # a comment
      Y[i: 4] = max(X[i] * 2 + 0.5, 0)
      return Y)")
                             .value();
  EXPECT_THAT(to_string(dag), HasSubstr("max(X[i] * 2.0f64 + 0.5f64, 0.0f64)"));
}

TEST(DagTextErrors, TellLineAndColumn) {
  EXPECT_THAT(error_of("A = placeholder f32[4]\nB[i: 4] = A[i] + )\nreturn B"),
              HasSubstr("line 2, column 18: an expression was expected"));
  EXPECT_THAT(error_of("A = placeholder f33[4]"),
              AllOf(HasSubstr("line 1, column 17"), HasSubstr("f33")));
  EXPECT_THAT(error_of("B[i: 4] = Q[i]\nreturn B"),
              AllOf(HasSubstr("line 1, column 11"), HasSubstr("'Q'")));
  EXPECT_THAT(error_of("A = placeholder f32[4]\nB[i: 4] = A[j]\nreturn B"),
              AllOf(HasSubstr("line 2, column 13"), HasSubstr("'j'")));
}

TEST(DagTextErrors, TypesMustAgree) {
  EXPECT_THAT(error_of("A = placeholder f32[4]\nB[i: 4] = A[i] + f64(A[i])\nreturn B"),
              AllOf(HasSubstr("line 2, column 16"), HasSubstr("f32 and f64")));
  EXPECT_THAT(error_of("A = placeholder i32[4]\nB[i: 4] = exp(A[i])\nreturn B"),
              HasSubstr("'exp' is not defined on i32"));
  EXPECT_THAT(error_of("A = placeholder u8[4]\nB[i: 4] = A[i] + 256u8\nreturn B"),
              HasSubstr("'256' does not fit u8"));
}

TEST(DagTextErrors, ChecksOfTheDagApply) {
  EXPECT_THAT(error_of("A = placeholder f32[4]\nB[i: 5] = A[i]\nreturn B"),
              AllOf(HasSubstr("outside"), HasSubstr("'A'")));
  EXPECT_THAT(error_of("A = placeholder f32[-4]\nB[i: 5] = A[0]\nreturn B"), HasSubstr("-4"));
}

TEST(DagTextErrors, Structure) {
  EXPECT_THAT(error_of(""), HasSubstr("line 1"));
  EXPECT_THAT(error_of("A = placeholder f32[4]\n"), HasSubstr("end of the text"));
  EXPECT_THAT(error_of("A = placeholder f32[4]\nA = placeholder f32[4]\nreturn A"),
              HasSubstr("twice"));
  EXPECT_THAT(error_of("A = placeholder f32[4]\nB[i: 4] = A[i]\nC[i: 4] = A[i]\nreturn B"),
              AllOf(HasSubstr("'C'"), HasSubstr("not used"), HasSubstr("line 3")));
  EXPECT_THAT(error_of("A = placeholder f32[4]\nB[i: 4] = A[i] )\nreturn B"), HasSubstr("line 2"));
}

TEST(DagTextErrors, DeepTextIsRefusedNotOverflown) {
  const std::string head = "A = placeholder f32[4]\nB[i: 4] = ";
  EXPECT_THAT(error_of(head + std::string(100000, '(')), HasSubstr("open"));
  EXPECT_THAT(error_of(head + std::string(100000, '-')), HasSubstr("open"));
  std::string chain = head + "A[i]";
  for (int n = 0; n < 100000; ++n) chain += "+A[i]";
  EXPECT_THAT(error_of(chain + "\nreturn B"), HasSubstr("deeper"));
}

TEST(DagTextErrors, DamagedTextsNeverCrash) {
  const std::string text = to_string(matmul_relu());
  constexpr uint64_t kSeed = 20240611;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  const std::string_view pieces = "()[]:=,.+-*/<>&|!09kfAC \n\"";
  for (int n = 0; n < 3000; ++n) {
    std::string damaged = text;
    for (uint64_t edits = 1 + rng.below(3); edits > 0; --edits) {
      const size_t at = rng.below(damaged.size());
      if (rng.chance(0.5)) {
        damaged.erase(at, 1 + rng.below(4));
      } else {
        damaged.insert(at, 1, pieces[rng.below(pieces.size())]);
      }
    }
    Result<ComputeDag> dag = parse_dag(damaged);
    if (dag.ok()) expect_round_trip(*dag);
  }
}

}  // namespace
}  // namespace espalier
