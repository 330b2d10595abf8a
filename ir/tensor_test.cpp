#include "espalier/ir/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace espalier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_of(const Tensor& t) {
  std::vector<std::string> names;
  for (const Axis& a : t->axes) names.push_back(a.var.name());
  return names;
}

double float_of(const Expr& e) { return e.as<ConstNode>()->f; }

TEST(Tensor, AxesLeaveOutTheNamesOfTheReduction) {
  Tensor x = placeholder("X", {2, 3, 4, 5});
  Tensor copy = compute("C", {2, 3, 4}, [&](Var a, Var b, Var c) { return x(a, b, c, 0); });
  EXPECT_THAT(names_of(copy), ElementsAre("i", "j", "k"));
  Axis k = reduce_axis("k", 5);
  Tensor sums = compute("S", {2, 3, 4}, [&](Var a, Var b, Var c) { return sum(x(a, b, c, k), k); });
  EXPECT_THAT(names_of(sums), ElementsAre("i", "j", "l"));
  const auto* read = sums->body.as<ReduceNode>()->value.as<ReadNode>();
  EXPECT_TRUE(read->indices[2].same_as(sums->axes[2].var));
}

TEST(Tensor, ManyDimensionsHaveDistinctNames) {
  const std::vector<int64_t> shape(20, 1);
  Tensor x = placeholder("X", shape);
  Tensor y =
      compute("Y", shape, [&](const std::vector<Var>& v) { return x.at({v.begin(), v.end()}); });
  std::vector<std::string> names = names_of(y);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

TEST(Tensor, WrongNumberOfVarsIsAnError) {
  Tensor y = compute("Y", {2, 3}, [](Var) { return Expr(1.0f); });
  EXPECT_THAT(y->error, HasSubstr("one Var per dimension"));
}

TEST(Combiner, Identities) {
  auto identity = [](Combiner::Kind kind, DType t) { return Combiner::of(kind).identity(t); };
  EXPECT_EQ(float_of(identity(Combiner::Kind::Sum, DType::F32)), 0);
  EXPECT_EQ(float_of(identity(Combiner::Kind::Prod, DType::F16)), 1);
  EXPECT_EQ(float_of(identity(Combiner::Kind::Max, DType::F32)), -INFINITY);
  EXPECT_EQ(float_of(identity(Combiner::Kind::Min, DType::BF16)), INFINITY);
  EXPECT_TRUE(is_const(identity(Combiner::Kind::Max, DType::I8), -128));
  EXPECT_TRUE(is_const(identity(Combiner::Kind::Min, DType::U16), 65535));
  EXPECT_EQ(identity(Combiner::Kind::Min, DType::U64).as<ConstNode>()->i, -1);
  EXPECT_TRUE(is_const(identity(Combiner::Kind::Or, DType::Bool), 0));
  EXPECT_TRUE(is_const(identity(Combiner::Kind::And, DType::Bool), 1));
}

TEST(Combiner, CustomOnesWorkOnVectors) {
  Combiner c = Combiner::of(Combiner::Kind::Custom);
  c.lhs = Var("a", DType::F32);
  c.rhs = Var("b", DType::F32);
  c.body = c.lhs * 0.5f + c.rhs;
  c.custom_identity = Expr(0.0f);
  const Expr ones = make_float(Type(DType::F32, 4), 2), twos = make_float(Type(DType::F32, 4), 3);
  const Expr result = c.combine(ones, twos);
  EXPECT_EQ(result.type(), Type(DType::F32, 4));
  EXPECT_TRUE(equal(result, make_float(Type(DType::F32, 4), 4)));
  EXPECT_EQ(c.identity(Type(DType::F32, 4)).type().lanes, 4);
}

TEST(Reduce, WithoutAxesIsItsTerm) {
  Tensor x = placeholder("X", {2});
  const Expr term = x(0);
  EXPECT_TRUE(sum(term, std::vector<Axis>{}).same_as(term));
}

TEST(Reduce, WrongUseIsPoison) {
  Tensor x = placeholder("X", {2});
  Axis k = reduce_axis("k", 2);
  EXPECT_THAT(*poison_message(sum(x(k) > 0.0f, k)), HasSubstr("bool"));
  EXPECT_THAT(*poison_message(sum(x(k), {k, k})), HasSubstr("twice"));
  EXPECT_THAT(*poison_message(sum(x(k), {k}, x(k))), HasSubstr("a bool is needed"));
  EXPECT_THAT(*poison_message(sum(x(k, k), k)), HasSubstr("2 indices"));
}

TEST(Placeholder, RangesAreForIntegers) {
  EXPECT_THAT(placeholder("X", {2}, DType::F32, std::pair<int64_t, int64_t>{0, 2})->error,
              HasSubstr("only integers"));
  EXPECT_THAT(placeholder("X", {2}, DType::I32, std::pair<int64_t, int64_t>{2, 0})->error,
              HasSubstr("ends before it begins"));
}

}  // namespace
}  // namespace espalier
