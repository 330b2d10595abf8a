#include "espalier/ir/error_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <unordered_map>

#include "espalier/ir/evaluate.h"
#include "espalier/ir/ops/test_spec.h"
#include "espalier/ir/ops/workload.h"
#include "espalier/ir/scalar_ops.h"
#include "espalier/support/rng.h"

namespace espalier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What a program that computes the DAG in its own types may give: every operation rounds to its
// type, reductions run in random order (one after the other, or as a random tree), and math
// functions are off by a few units in the last place. Faults can be put in.
class Computation {
 public:
  Computation(const ComputeDag& dag, std::vector<Array> args, uint64_t seed)
      : dag_(dag), args_(std::move(args)), rng_(seed) {}
  // Leaves out one term of every reduction; scales every product.
  bool drops_terms = false;
  double product_factor = 1;

  std::vector<Array> run() {
    std::vector<int> leaves = dag_.inputs();
    leaves.insert(leaves.end(), dag_.constants().begin(), dag_.constants().end());
    for (size_t i = 0; i < leaves.size(); ++i) {
      values_[dag_.stage(leaves[i]).tensor.get()] = args_[i];
    }
    for (const StageInfo& s : dag_.stages()) {
      if (s.is_compute()) stage(s);
    }
    std::vector<Array> outputs;
    for (int o : dag_.outputs()) outputs.push_back(values_.at(dag_.stage(o).tensor.get()));
    return outputs;
  }

 private:
  void stage(const StageInfo& s) {
    Array out(s.tensor->dtype, s.tensor->shape);
    int64_t flat = 0;
    for_all(s.axes, 0, [&] {
      const ScalarBits bits = s.reduce() ? reduce(*s.reduce()) : eval(s.tensor->body);
      store_scalar(out.dtype(), at(out, flat++), bits);
    });
    values_[s.tensor.get()] = out;
  }

  template <class F>
  void for_all(const std::vector<Axis>& axes, size_t d, const F& f) {
    if (d == axes.size()) return f();
    for (int64_t i = 0; i < axes[d].extent; ++i) {
      vars_[axes[d].var.get()] = i;
      for_all(axes, d + 1, f);
    }
  }

  ScalarBits reduce(const ReduceNode& r) {
    std::vector<ScalarBits> terms;
    for_all(r.axes, 0, [&] {
      if (!r.where || eval(r.where) != 0) terms.push_back(eval(r.value));
    });
    if (drops_terms && !terms.empty()) terms.pop_back();
    const DType t = r.type.dtype;
    terms.push_back(bits_of(r.combiner.identity(r.type)));
    rng_.shuffle(terms);
    const BinaryOp op = *r.combiner.binary();
    const bool serial = rng_.chance(0.3);
    while (terms.size() > 1) {
      const size_t i = serial ? 0 : rng_.below(terms.size() - 1);
      terms[i] = apply(op, t, terms[i], terms.back());
      terms.pop_back();
    }
    return terms[0];
  }

  static ScalarBits bits_of(const Expr& e) {
    const auto* c = e.as<ConstNode>();
    return is_float(c->type.dtype) ? bits_from_double(c->type.dtype, c->f)
                                   : static_cast<ScalarBits>(c->i);
  }

  ScalarBits eval(const Expr& e) {
    const DType t = e.type().dtype;
    switch (e.kind()) {
      case ExprKind::Const: return bits_of(e);
      case ExprKind::Var: return static_cast<ScalarBits>(vars_.at(e.get()));
      case ExprKind::Cast: {
        const Expr& inner = e.as<CastNode>()->value;
        return apply_cast(inner.type().dtype, t, eval(inner));
      }
      case ExprKind::Unary: {
        const auto* n = e.as<UnaryNode>();
        const ScalarBits exact = apply(n->op, t, eval(n->a));
        if (n->op < UnaryOp::Exp || bytes_of(t) < 4) return exact;
        const double v = double_from_bits(t, exact);
        return bits_from_double(t, v * (1 + rng_.uniform(-5, 5) * unit_roundoff(t)));
      }
      case ExprKind::Binary: {
        const auto* n = e.as<BinaryNode>();
        const DType in = n->a.type().dtype;
        const ScalarBits v = apply(n->op, in, eval(n->a), eval(n->b));
        if (n->op != BinaryOp::Mul || !is_float(t) || product_factor == 1) return v;
        return bits_from_double(t, double_from_bits(t, v) * product_factor);
      }
      case ExprKind::Select: {
        const auto* n = e.as<SelectNode>();
        return eval(eval(n->cond) != 0 ? n->a : n->b);
      }
      case ExprKind::Read: {
        const auto* n = e.as<ReadNode>();
        const Array& a = values_.at(n->tensor.get());
        int64_t flat = 0;
        for (size_t d = 0; d < n->indices.size(); ++d) {
          flat = flat * a.shape()[d] + static_cast<int64_t>(eval(n->indices[d]));
        }
        return load_scalar(a.dtype(), at(a, flat));
      }
      default: ADD_FAILURE() << "not simulated: " << to_string(e); return 0;
    }
  }

  static std::byte* at(const Array& a, int64_t flat) {
    return static_cast<std::byte*>(a.data()) + flat * bytes_of(a.dtype());
  }

  const ComputeDag& dag_;
  std::vector<Array> args_;
  Rng rng_;
  std::unordered_map<const TensorNode*, Array> values_;
  std::unordered_map<const ExprNode*, int64_t> vars_;
};

std::vector<Array> random_args(const ComputeDag& dag, Rng& rng, double spread) {
  std::vector<int> leaves = dag.inputs();
  leaves.insert(leaves.end(), dag.constants().begin(), dag.constants().end());
  std::vector<Array> args;
  for (int leaf : leaves) {
    const TensorNode& t = *dag.stage(leaf).tensor;
    Array a(t.dtype, t.shape);
    for (int64_t i = 0; i < a.elements(); ++i) {
      if (t.value_range) {
        a.set_int(i, rng.range(t.value_range->first, t.value_range->second - 1));
      } else {
        a.set(i, rng.uniform(-spread, spread));
      }
    }
    args.push_back(a);
  }
  return args;
}

struct Bounds64 {
  std::vector<Array> values, bounds;
};
Bounds64 reference(const ComputeDag& dag, const std::vector<Array>& args) {
  const ComputeDag wide = with_error_bounds(dag).value();
  std::vector<Array> wide_args;
  for (const Array& a : args) {
    if (!is_float(a.dtype())) {
      wide_args.push_back(a);
      continue;
    }
    Array w(DType::F64, a.shape());
    for (int64_t i = 0; i < a.elements(); ++i) w.set(i, a.get(i));
    wide_args.push_back(w);
  }
  const std::vector<Array> all = evaluate(wide, wide_args).value();
  const size_t n = dag.outputs().size();
  return {{all.begin(), all.begin() + static_cast<ptrdiff_t>(n)},
          {all.begin() + static_cast<ptrdiff_t>(n), all.end()}};
}

// Elements of all outputs that are further off than their bounds.
int64_t count_outside(const Bounds64& ref, const std::vector<Array>& got, std::string* first = {}) {
  int64_t count = 0;
  for (size_t o = 0; o < got.size(); ++o) {
    for (int64_t i = 0; i < got[o].elements(); ++i) {
      const double want = ref.values[o].get(i), have = got[o].get(i), bound = ref.bounds[o].get(i);
      EXPECT_FALSE(std::isnan(bound));
      if (std::isnan(want) && std::isnan(have)) continue;
      if (want == have || bound == INFINITY || std::fabs(want - have) <= bound) continue;
      const double largest = overflow_threshold(got[o].dtype());
      if (std::isinf(have) && std::copysign(1.0, have) * want + bound >= largest) continue;
      if (count++ == 0 && first != nullptr) {
        *first =
            detail::concat("element ", i, ": ", have, " where ", want, " is expected, at most ",
                           bound, " off by ", std::fabs(want - have));
      }
    }
  }
  return count;
}

const char* const kOps[] = {
    "matmul:m=5,n=6,k=37",
    "matmul:m=3,n=4,k=200,epilogue=bias+gelu",
    "conv2d:n=1,h=6,w=5,ci=9,co=4,k=3,p=1,epilogue=bias+add+relu",
    "depthwise_conv2d:n=1,h=6,w=6,c=3,k=3,p=1,epilogue=bias+silu",
    "conv2d:n=1,h=4,w=4,ci=8,co=4,k=1,g=2,epilogue=bias+hardswish+mul",
    "max_pool2d:n=1,h=6,w=6,c=3,k=3,s=2,p=1",
    "avg_pool2d:n=1,h=6,w=6,c=3,k=3,s=2,p=1,ceil=1",
    "global_avg_pool2d:n=2,h=7,w=7,c=4,epilogue=sigmoid",
    "reduce:op=sum,shape=3x400,axes=1",
    "reduce:op=mean,shape=30x4,axes=0",
    "reduce:op=prod,shape=3x10,axes=1",
    "reduce:op=max,shape=3x4,axes=0x1,epilogue=exp",
    "softmax:rows=4,cols=50",
    "layer_norm:rows=4,cols=50",
    "layer_norm:rows=4,cols=50,epilogue=gelu_tanh",
    "elementwise:op=exp+log+tanh+erf+sigmoid,shape=40",
    "elementwise:op=abs+sqrt+rsqrt,shape=40",
    "elementwise:op=abs+pow,shape=40",
    "elementwise:op=div,shape=40",
    "elementwise:op=mod,shape=40",
    "elementwise:op=scale+round,shape=40,scale=7.3",
    "elementwise:op=mul+floor+bias,shape=40",
    "elementwise:op=mul+mul+mul+sub+div,shape=40",
    "embedding:rows=3,cols=4,vocab=7",
    "transpose:shape=4x5,perm=1x0",
};

class ErrorBoundOfOp : public testing::TestWithParam<const char*> {};

TEST_P(ErrorBoundOfOp, CoversAnyOrder) {
  const ComputeDag dag = load_workload(GetParam()).value();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const std::vector<Array> args = random_args(dag, rng, seed % 4 == 0 ? 8 : 1);
    std::string first;
    const Bounds64 ref = reference(dag, args);
    EXPECT_EQ(count_outside(ref, Computation(dag, args, seed).run(), &first), 0) << first;
  }
}

// The same computed in a narrow type all through.
ComputeDag narrowed(const char* spec, std::string_view type) {
  std::string text = to_string(load_workload(spec).value());
  for (size_t at = 0; (at = text.find("f32", at)) != std::string::npos; at += type.size()) {
    text.replace(at, 3, type);
  }
  return parse_dag(text).value();
}

TEST_P(ErrorBoundOfOp, CoversNarrowTypesUpToOverflow) {
  for (const char* type : {"f16", "bf16"}) {
    const ComputeDag dag = narrowed(GetParam(), type);
    for (uint64_t seed = 1; seed <= 30; ++seed) {
      SCOPED_TRACE(detail::concat(type, " ", seed));
      Rng rng(seed);
      const double spreads[] = {1, 8, 100, 3000};
      const std::vector<Array> args = random_args(dag, rng, spreads[seed % 4]);
      std::string first;
      const Bounds64 ref = reference(dag, args);
      EXPECT_EQ(count_outside(ref, Computation(dag, args, seed).run(), &first), 0) << first;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, ErrorBoundOfOp, testing::ValuesIn(kOps));

// The bounds must also tell wrong from right.
int64_t count_caught(const char* spec, bool drops_terms, double factor) {
  const ComputeDag dag = load_workload(spec).value();
  Rng rng(3);
  const std::vector<Array> args = random_args(dag, rng, 1);
  Computation faulty(dag, args, 3);
  faulty.drops_terms = drops_terms;
  faulty.product_factor = factor;
  return count_outside(reference(dag, args), faulty.run());
}

TEST(ErrorBound, NoticesAMissingTerm) {
  for (const char* spec :
       {"matmul:m=5,n=6,k=37", "conv2d:n=1,h=6,w=5,ci=9,co=4,k=3,p=1,epilogue=bias+add+relu",
        "reduce:op=sum,shape=3x400,axes=1", "softmax:rows=4,cols=50", "layer_norm:rows=4,cols=50",
        "avg_pool2d:n=1,h=6,w=6,c=3,k=3,s=2,p=1"}) {
    EXPECT_GT(count_caught(spec, true, 1), 0) << spec;
  }
}

TEST(ErrorBound, NoticesAnErrorOfOneInAThousand) {
  for (const char* spec :
       {"matmul:m=5,n=6,k=37", "matmul:m=3,n=4,k=200,epilogue=bias+gelu",
        "depthwise_conv2d:n=1,h=6,w=6,c=3,k=3,p=1,epilogue=bias+silu", "softmax:rows=4,cols=50",
        "layer_norm:rows=4,cols=50", "elementwise:op=gelu,shape=40",
        "elementwise:op=mul+mul+mul+sub+div,shape=40"}) {
    EXPECT_GT(count_caught(spec, false, 1.001), 0) << spec;
  }
}

TEST(ErrorBound, MovesOfDataAreExact) {
  for (const char* spec : {"transpose:shape=4x5,perm=1x0", "max_pool2d:n=1,h=4,w=4,c=2,k=2",
                           "elementwise:op=relu,shape=8", "embedding:rows=3,cols=4,vocab=7"}) {
    const ComputeDag dag = load_workload(spec).value();
    Rng rng(1);
    for (double b : values_of(reference(dag, random_args(dag, rng, 1)).bounds[0])) EXPECT_EQ(b, 0);
  }
}

TEST(ErrorBound, ProductsNeedOneMoreReductionOnly) {
  const ComputeDag wide = with_error_bounds(load_workload("matmul:m=5,n=6,k=37").value()).value();
  int reductions = 0;
  for (const StageInfo& s : wide.stages()) reductions += s.reduce() != nullptr ? 1 : 0;
  EXPECT_EQ(reductions, 2);
  EXPECT_EQ(wide.size(), 5);  // A, B, value, magnitude, bound
}

TEST(ErrorBound, KeepsInputsInTheirOrder) {
  for (const char* spec : kOps) {
    const ComputeDag dag = load_workload(spec).value(), wide = with_error_bounds(dag).value();
    ASSERT_EQ(wide.outputs().size(), 2 * dag.outputs().size());
    ASSERT_EQ(wide.inputs().size(), dag.inputs().size()) << spec;
    for (size_t i = 0; i < dag.inputs().size(); ++i) {
      EXPECT_EQ(wide.stage(wide.inputs()[i]).name, dag.stage(dag.inputs()[i]).name) << spec;
    }
    ASSERT_EQ(wide.constants().size(), dag.constants().size()) << spec;
    for (const StageInfo& s : wide.stages()) {
      EXPECT_TRUE(!is_float(s.tensor->dtype) || s.tensor->dtype == DType::F64) << spec;
    }
  }
}

// y over one input of one element, computed as written.
struct One {
  double value, bound;
};
One bound_of(const Tensor& y, double x, DType dtype = DType::F32) {
  const ComputeDag dag = ComputeDag::make({y}).value();
  Array a(dtype, {1});
  a.set(0, x);
  const Bounds64 ref = reference(dag, {a});
  return {ref.values[0].get(0), ref.bounds[0].get(0)};
}

TEST(ErrorBound, ProductsMayVanish) {
  Tensor x = placeholder("X", {1});
  Tensor y = compute("Y", {1}, [&](Var i) { return x(i) * x(i); });
  const One r = bound_of(y, 1e-30);  // 0 in f32
  EXPECT_GE(r.bound, r.value);
}

TEST(ErrorBound, WhatIsMadeOfAnOverflowIsOpen) {
  Tensor x = placeholder("X", {1}, DType::F16);
  Tensor square = compute("S", {1}, [&](Var i) { return x(i) * x(i); });
  Tensor y = compute("Y", {1}, [&](Var i) { return square(i) - square(i); });
  EXPECT_EQ(bound_of(y, 300, DType::F16).bound, INFINITY);  // inf - inf
  EXPECT_LT(bound_of(y, 250, DType::F16).bound, 100);
  Tensor clamped = compute("C", {1}, [&](Var i) { return min(square(i), 6.0) * 0.5; });
  EXPECT_LT(bound_of(clamped, 1000, DType::F16).bound, INFINITY);
  EXPECT_LT(bound_of(square, 300, DType::F16).bound, 100);  // an output is compared as it is
}

TEST(ErrorBound, PartialSumsAndProductsMayOverflow) {
  Tensor x = placeholder("X", {1}, DType::F16);
  Axis k = reduce_axis("k", 4);
  auto sign = [&] { return select(k % 2 == Expr(0), Expr(x(0)), -x(0)); };
  Tensor y = compute("Y", {1}, [&](Var) { return sum(sign() * 2.0, k); });
  EXPECT_EQ(bound_of(y, 20000, DType::F16).bound, INFINITY);
  EXPECT_LT(bound_of(y, 5000, DType::F16).bound, 1000);
}

TEST(ErrorBound, FarExponentsAreCovered) {
  // In bf16 the argument is off by up to 1: the result by a factor of up to e.
  Tensor x = placeholder("X", {1}, DType::BF16);
  Tensor y = compute("Y", {1}, [&](Var i) { return exp(x(i) * 2.015625); });
  const One r = bound_of(y, -300, DType::BF16);
  EXPECT_GE(r.bound, r.value * std::expm1(600 * 0x1p-8));
}

TEST(ErrorBound, ExpMayFlushSubnormals) {
  Tensor x = placeholder("X", {1});
  Tensor y = compute("Y", {1}, [&](Var i) { return exp(x(i)); });
  const One r = bound_of(y, -88.5);
  EXPECT_GT(r.value, 0);
  EXPECT_GE(r.bound, r.value);
  EXPECT_LT(bound_of(y, -80).bound, 1e-30);
}

TEST(ErrorBound, OverflownExpBoundsNothing) {
  Tensor x = placeholder("X", {1});
  Tensor y = compute("Y", {1}, [&](Var i) { return 1.0f / (1.0f + exp(x(i))); });
  EXPECT_EQ(bound_of(y, 100).bound, INFINITY);
  EXPECT_LT(bound_of(y, 10).bound, 1e-9);
}

TEST(ErrorBound, CancellationIsSeen) {
  Tensor x = placeholder("X", {1});
  Tensor a = compute("A", {1}, [&](Var i) { return x(i) + 1e6f; });
  Tensor y = compute("Y", {1}, [&](Var i) { return a(i) - 1e6f; });
  const One r = bound_of(y, 0.3);  // 0.3125 in f32
  EXPECT_NEAR(r.value, 0.3, 1e-6);
  EXPECT_GE(r.bound, 0.0125);
  EXPECT_LT(r.bound, 0.2);
}

TEST(ErrorBound, StepsAcceptBothSides) {
  Tensor x = placeholder("X", {1});
  Tensor y = compute("Y", {1}, [&](Var i) { return round(x(i) * 3.0f); });
  EXPECT_EQ(bound_of(y, 0.16666667).bound, 1);  // 0.5 and a bit: 0 or 1
  EXPECT_EQ(bound_of(y, 0.5).bound, 1);
  EXPECT_EQ(bound_of(y, 0.4).bound, 0);
  Tensor z =
      compute("Z", {1}, [&](Var i) { return select(x(i) * 3.0f > 1.0f, Expr(5.0f), Expr(2.0f)); });
  EXPECT_EQ(bound_of(z, static_cast<double>(1.0f / 3)).bound, 3);
  EXPECT_EQ(bound_of(z, 0.4).bound, 0);
}

TEST(ErrorBound, IntegersAreExact) {
  Tensor x = placeholder("X", {1}, DType::I8);
  Tensor y = compute("Y", {1}, [&](Var i) { return cast(DType::I32, x(i)) * 3 + 1; });
  const One r = bound_of(y, 5, DType::I8);
  EXPECT_EQ(r.value, 16);
  EXPECT_EQ(r.bound, 0);
}

TEST(ErrorBound, QuantisedValuesCarryTheirSteps) {
  Tensor x = placeholder("X", {1});
  Tensor q = compute("Q", {1}, [&](Var i) { return cast(DType::I8, round(x(i) * 10.0f)); });
  Tensor y = compute("Y", {1}, [&](Var i) { return cast(DType::F32, q(i)) * 0.5f; });
  EXPECT_LT(bound_of(y, 0.31).bound, 1e-6);
  EXPECT_NEAR(bound_of(y, 0.25).bound, 0.5, 1e-6);
}

TEST(ErrorBound, NarrowTypesHaveWiderBounds) {
  Tensor x = placeholder("X", {1}, DType::F16);
  Tensor y = compute("Y", {1}, [&](Var i) { return x(i) * x(i); });
  const One r = bound_of(y, 1.5, DType::F16);
  EXPECT_NEAR(r.bound, 2.25 * 0x1p-11, 1e-6);
}

TEST(ErrorBound, ZeroTimesInfinityIsNotNaN) {
  Tensor x = placeholder("X", {1});
  Tensor y = compute("Y", {1}, [&](Var i) { return log(x(i) * 3.0f) * 0.0f; });
  EXPECT_FALSE(std::isnan(bound_of(y, 1e-30).bound));
}

TEST(ErrorBound, CustomCombinersAreOpen) {
  Tensor x = placeholder("X", {1});
  Axis k = reduce_axis("k", 1);
  Combiner c = Combiner::of(Combiner::Kind::Custom);
  c.name = "halve_and_add";
  c.lhs = Var("a", DType::F32);
  c.rhs = Var("b", DType::F32);
  c.body = c.lhs * 0.5f + c.rhs;
  c.custom_identity = Expr(2.0f);
  c.reorderable = false;
  Tensor y = compute("Y", {1}, [&](Var) { return make_reduce(c, x(k), {k}); });
  const One r = bound_of(y, 3);
  EXPECT_EQ(r.value, 4);
  EXPECT_EQ(r.bound, INFINITY);
}

TEST(ErrorBound, NestedPowersAreComputedInParts) {
  Tensor x = placeholder("X", {1});
  Tensor y = compute("Y", {1}, [&](Var i) {
    Expr e = x(i);
    for (int n = 0; n < 4; ++n) e = pow(abs(e * x(i)) + 0.5f, min(max(e, -2.0f), 2.0f));
    return e;
  });
  const One r = bound_of(y, 0.75);
  EXPECT_GT(r.bound, 0);
  EXPECT_LT(r.bound, 1e-3);
}

}  // namespace
}  // namespace espalier
