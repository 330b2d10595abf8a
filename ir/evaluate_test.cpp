#include "espalier/ir/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

namespace espalier {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

Array ints(DType t, const std::vector<int64_t>& values) {
  Array a(t, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) a.set_int(static_cast<int64_t>(i), values[i]);
  return a;
}
Array floats(DType t, const std::vector<double>& values) {
  Array a(t, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) a.set(static_cast<int64_t>(i), values[i]);
  return a;
}
Result<std::vector<Array>> run(const Tensor& y, const std::vector<Array>& args) {
  return evaluate(ComputeDag::make({y}).value(), args);
}
std::vector<int64_t> run_ints(const Tensor& y, const std::vector<Array>& args) {
  const Array out = run(y, args).value()[0];
  std::vector<int64_t> values;
  for (int64_t i = 0; i < out.elements(); ++i) values.push_back(out.get_int(i));
  return values;
}
std::vector<double> run_floats(const Tensor& y, const std::vector<Array>& args) {
  const Array out = run(y, args).value()[0];
  std::vector<double> values;
  for (int64_t i = 0; i < out.elements(); ++i) values.push_back(out.get(i));
  return values;
}

TEST(Evaluate, FloatSumsAreRoundedOnce) {
  // 2^24 ones and more do not get stuck, as they would in f32.
  Tensor x = placeholder("X", {4});
  Axis k = reduce_axis("k", 4);
  Tensor y = compute("Y", {}, [&] { return sum(x(k), k); });
  EXPECT_THAT(run_floats(y, {floats(DType::F32, {0x1p24, 1, 1, 0.5})}), ElementsAre(0x1p24 + 2));
}

TEST(Evaluate, StagesRoundToTheirType) {
  Tensor x = placeholder("X", {1}, DType::F16);
  Tensor y = compute("Y", {1}, [&](Var i) { return x(i) * x(i); });
  Tensor z = compute("Z", {1}, [&](Var i) { return y(i) - x(i); });
  // 1.0009765625 squared rounds to 1.001953125 in f16.
  EXPECT_THAT(run_floats(z, {floats(DType::F16, {1.0009765625})}), ElementsAre(0.0009765625));
}

TEST(Evaluate, IntegersWrap) {  // B13, C5
  Tensor x = placeholder("X", {6}, DType::U8);
  Axis k = reduce_axis("k", 6);
  Tensor sums = compute("Y", {}, [&] { return sum(x(k), k); });
  EXPECT_THAT(run_ints(sums, {ints(DType::U8, {90, 99, 108, 117, 126, 135})}),
              ElementsAre(675 % 256));
  Tensor u = placeholder("U", {1}, DType::U32);
  Tensor minus = compute("Y", {1}, [&](Var i) { return u(i) - 2; });
  EXPECT_THAT(run_ints(minus, {ints(DType::U32, {0})}), ElementsAre(4294967294));
}

Combiner saturating(DType t, int64_t lo, int64_t hi) {
  Combiner c = Combiner::of(Combiner::Kind::Custom);
  c.name = "saturating";
  c.lhs = Var("a", t);
  c.rhs = Var("b", t);
  c.body = cast(t, max(min(cast(DType::I32, c.lhs) + cast(DType::I32, c.rhs), hi), lo));
  c.custom_identity = make_int(t, 0);
  c.reorderable = false;
  return c;
}

TEST(Evaluate, SaturatingSums) {  // C5
  auto total = [](DType t, int64_t lo, int64_t hi, const std::vector<int64_t>& values) {
    const auto n = static_cast<int64_t>(values.size());
    Tensor x = placeholder("X", {n}, t);
    Axis k = reduce_axis("k", n);
    Tensor y = compute("Y", {}, [&] { return make_reduce(saturating(t, lo, hi), x(k), {k}); });
    return run_ints(y, {ints(t, values)})[0];
  };
  EXPECT_EQ(total(DType::U8, 0, 255, {30, 33, 36, 39, 42, 45}), 225);
  EXPECT_EQ(total(DType::U8, 0, 255, {90, 99, 108, 117, 126, 135}), 255);
  EXPECT_EQ(total(DType::I8, -128, 127, {127, 127, -128}), -1);
}

TEST(Evaluate, CustomCombinersKeepTheOrderOfEachElement) {  // C3
  Tensor x = placeholder("X", {3, 200});
  Axis k = reduce_axis("k", 3);
  Combiner c = Combiner::of(Combiner::Kind::Custom);
  c.name = "halve_and_add";
  c.lhs = Var("a", DType::F32);
  c.rhs = Var("b", DType::F32);
  c.body = c.lhs * 0.5f + c.rhs;
  c.custom_identity = Expr(0.0f);
  c.reorderable = false;
  Tensor y = compute("Y", {200}, [&](Var i) { return make_reduce(c, x(k, i), {k}); });
  Array in(DType::F32, {3, 200});
  for (int64_t i = 0; i < 600; ++i) in.set(i, static_cast<double>(i / 200 + 1));
  for (double v : run_floats(y, {in})) EXPECT_EQ(v, 0.25 + 1 + 3);
}

TEST(Evaluate, DivisionIsTotal) {  // A12
  Tensor a = placeholder("A", {4}, DType::I32), b = placeholder("B", {4}, DType::I32);
  const std::vector<Array> args = {ints(DType::I32, {-5, 5, 7, INT32_MIN}),
                                   ints(DType::I32, {2, 2, 0, -1})};
  Tensor quotient = compute("Y", {4}, [&](Var i) { return a(i) / b(i); });
  EXPECT_THAT(run_ints(quotient, args), ElementsAre(-2, 2, 0, INT32_MIN));
  Tensor floored = compute("Y", {4}, [&](Var i) { return floordiv(a(i), b(i)); });
  EXPECT_THAT(run_ints(floored, args), ElementsAre(-3, 2, 0, INT32_MIN));
}

TEST(Evaluate, NegativeIndicesCountFromTheEnd) {  // I1
  Tensor t = placeholder("T", {5}, DType::I32);
  Tensor x = placeholder("X", {3}, DType::I64, std::pair<int64_t, int64_t>{-5, 5});
  Tensor y = compute("Y", {3}, [&](Var r) { return t(select(x(r) < 0, x(r) + 5, x(r))); });
  const ComputeDag dag = ComputeDag::make({y}).value();
  ASSERT_EQ(dag.stage(dag.inputs()[0]).name, "T");
  const auto out =
      evaluate(dag, {ints(DType::I32, {1, 2, 3, 4, 5}), ints(DType::I64, {-1, -3, 0})}).value();
  EXPECT_EQ(out[0].get_int(0), 5);
  EXPECT_EQ(out[0].get_int(1), 3);
  EXPECT_EQ(out[0].get_int(2), 1);
}

TEST(Evaluate, ComparisonsAreNumbers) {  // B11
  Tensor t = placeholder("T", {2}, DType::I32);
  Tensor y = compute("Y", {6}, [&](Var c) { return t(cast(DType::I64, c <= 2)); });
  EXPECT_THAT(run_ints(y, {ints(DType::I32, {10, 20})}), ElementsAre(20, 20, 20, 10, 10, 10));
}

TEST(Evaluate, OnlyTheChosenSideIsRead) {
  Tensor x = placeholder("X", {3}, DType::I32);
  Tensor y = compute("Y", {5}, [&](Var i) {
    return select(i < 1, cast(DType::I32, i) - 7, select(i < 4, x(i - 1), x(i - 4) * 10));
  });
  EXPECT_THAT(run_ints(y, {ints(DType::I32, {1, 2, 3})}), ElementsAre(-7, 1, 2, 3, 10));
}

TEST(Evaluate, ReadsOutsideAreErrors) {
  Tensor x = placeholder("X", {3});
  Tensor y = compute("Y", {5}, [&](Var i) { return select(i >= 0, x(i), 0.0f); });
  const auto out = run(y, {floats(DType::F32, {1, 2, 3})});
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code, ErrorCode::OutOfRange);
  EXPECT_THAT(out.error().message, AllOf(HasSubstr("'Y'"), HasSubstr("'X'"), HasSubstr("at 3")));
}

TEST(Evaluate, TermsThatAreAbsentAreNotRead) {
  Tensor x = placeholder("X", {300});
  Axis k = reduce_axis("k", 3);
  Tensor y = compute("Y", {300},
                     [&](Var i) { return sum(x(i + k - 1), {k}, i + k >= 1 && i + k <= 300); });
  Array in(DType::F32, {300});
  for (int64_t i = 0; i < 300; ++i) in.set(i, 1);
  const std::vector<double> out = run_floats(y, {in});
  EXPECT_EQ(out.front(), 2);
  EXPECT_EQ(out[150], 3);
  EXPECT_EQ(out.back(), 2);
}

TEST(Evaluate, CastsOfSpecialValues) {  // D7
  Tensor x = placeholder("X", {6});
  const Array in = floats(DType::F32, {300, NAN, INFINITY, -INFINITY, 50, -50});
  Tensor narrow = compute("Y", {6}, [&](Var i) { return cast(DType::I8, x(i)); });
  EXPECT_THAT(run_ints(narrow, {in}), ElementsAre(127, 0, 127, -128, 50, -50));
  Tensor truth = compute("Y", {6}, [&](Var i) { return cast(DType::Bool, x(i)); });
  EXPECT_THAT(run_ints(truth, {in}), ElementsAre(1, 1, 1, 1, 1, 1));
}

TEST(Evaluate, ReinterpretsTheBitsOfTheType) {
  Tensor x = placeholder("X", {1});
  Tensor y = compute("Y", {1}, [&](Var i) { return make_reinterpret(DType::I32, x(i)); });
  EXPECT_THAT(run_ints(y, {floats(DType::F32, {-2.0})}), ElementsAre(-1073741824));
}

TEST(Evaluate, ExpGivesNoSubnormals) {
  Tensor x = placeholder("X", {2});
  Tensor y = compute("Y", {2}, [&](Var i) { return exp(x(i)); });
  const std::vector<double> out = run_floats(y, {floats(DType::F32, {-90, -87})});
  EXPECT_EQ(out[0], 0);
  EXPECT_GE(out[1], static_cast<double>(FLT_MIN));
}

TEST(Evaluate, SubnormalsAreKept) {
  Tensor x = placeholder("X", {1});
  Tensor y = compute("Y", {1}, [&](Var i) { return x(i) * 0.5f; });
  EXPECT_THAT(run_floats(y, {floats(DType::F32, {static_cast<double>(FLT_MIN)})}),
              ElementsAre(0x1p-127));
}

TEST(Evaluate, TwoOutputsInTheirOrder) {  // J3
  Tensor x = placeholder("X", {1});
  Tensor a = compute("a", {1}, [&](Var i) { return x(i) + 1.0f; });
  Tensor b = compute("b", {1}, [&](Var i) { return a(i) * 2.0f; });
  const auto out = evaluate(ComputeDag::make({b, a}).value(), {floats(DType::F32, {3})}).value();
  EXPECT_EQ(out[0].get(0), 8);
  EXPECT_EQ(out[1].get(0), 4);
}

TEST(Evaluate, ZeroDimensionsAndNoAxes) {  // J3
  Tensor x = placeholder("X", {}, DType::F64);
  Tensor y = compute("Y", {}, [&] { return sqrt(x()) + 1.0; });
  Array in(DType::F64, {});
  in.set(0, 9);
  EXPECT_THAT(run_floats(y, {in}), ElementsAre(4));
}

TEST(Evaluate, AxesOfExtentOneAndZero) {  // J3, C11
  Tensor x = placeholder("X", {1, 3, 1});
  Axis k = reduce_axis("k", 1);
  Tensor y = compute("Y", {3, 1}, [&](Var i, Var j) { return sum(x(j, i, k), k); });
  Array in(DType::F32, {1, 3, 1});
  for (int64_t i = 0; i < 3; ++i) in.set(i, static_cast<double>(i));
  EXPECT_THAT(run_floats(y, {in}), ElementsAre(0, 1, 2));
  Tensor e = placeholder("E", {3, 0});
  Axis none = reduce_axis("k", 0);
  Tensor z = compute("Z", {3}, [&](Var i) { return sum(e(i, none), none); });
  EXPECT_THAT(run_floats(z, {Array(DType::F32, {3, 0})}), ElementsAre(0, 0, 0));
}

TEST(Evaluate, NothingIsReadForNoTerms) {
  Tensor x = placeholder("X", {0});
  Axis k = reduce_axis("k", 3), none = reduce_axis("none", 0);
  Tensor y = compute("Y", {2}, [&](Var i) { return sum(x(i) + x(k), {k, none}); });
  EXPECT_THAT(run_floats(y, {Array(DType::F32, {0})}), ElementsAre(0, 0));
}

TEST(EvaluateErrors, Arguments) {
  Tensor x = placeholder("X", {2});
  Tensor y = compute("Y", {2}, [&](Var i) { return x(i); });
  auto error = [&](const std::vector<Array>& args) { return run(y, args).error().message; };
  EXPECT_THAT(error({}), HasSubstr("takes 1 arrays"));
  EXPECT_THAT(error({floats(DType::F32, {1})}), AllOf(HasSubstr("f32[2]"), HasSubstr("f32[1]")));
  EXPECT_THAT(error({floats(DType::F64, {1, 2})}), AllOf(HasSubstr("'X'"), HasSubstr("f64[2]")));
  EXPECT_THAT(error({Array()}), HasSubstr("no array"));
}

}  // namespace
}  // namespace espalier
