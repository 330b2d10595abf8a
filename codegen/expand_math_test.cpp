#include "espalier/codegen/expand_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "espalier/codegen/test_kernels.h"

namespace espalier {
namespace {

using Unary = Expr (*)(Expr);

// y[i] = f(x[i]) over n elements, vectorized.
JitCode compile_map(DType t, int64_t n, const std::function<Expr(Expr)>& f) {
  const Buffer x = make_buffer("X", t, {n}, BufferScope::Param);
  const Buffer y = make_buffer("Y", t, {n}, BufferScope::Param);
  const Var i("i");
  const Stmt body = make_store(y, {i}, f(make_load(x, {i})));
  return JitCode::compile(test::kernel_of({x, y}, make_for(i, 0, n, ForKind::Vectorized, body)),
                          host_target())
      .value();
}

// The distance of `got` from the exact result in units of its last place in f32. `exact` has
// enough more bits.
double ulps_f32(float got, double exact) {
  const float nearest = static_cast<float>(exact);
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e30;
  if (std::isinf(nearest) || std::isinf(got)) {
    return nearest == got ? 0 : std::abs(exact) > 3.4028235e38 ? 1 : 1e30;
  }
  const double magnitude = std::max(std::abs(exact), double{std::numeric_limits<float>::min()});
  return std::abs(got - exact) / std::ldexp(1.0, std::ilogb(magnitude) - 23);
}

double ulps_f64(double got, long double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e30;
  const double nearest = static_cast<double>(exact);
  if (std::isinf(nearest) || std::isinf(got)) return nearest == got ? 0 : 1e30;
  const long double magnitude =
      std::max(std::abs(exact), static_cast<long double>(std::numeric_limits<double>::min()));
  return static_cast<double>(std::abs(got - exact) / std::ldexp(1.0L, std::ilogb(magnitude) - 52));
}

constexpr int64_t kBatch = 1 << 12;

// The largest error over every `step`-th f32 whose magnitude lies in [0, most].
struct Worst {
  double ulps = 0;
  float at = 0;
};
Worst sweep(Unary f, double (*exact)(double), float most, uint32_t step, bool flushes = false) {
  const JitCode code = compile_map(DType::F32, kBatch, f);
  test::Aligned<float> x(kBatch), y(kBatch);
  Worst worst;
  uint32_t next = 0;
  const uint32_t end = std::bit_cast<uint32_t>(most);
  while (next <= end) {
    for (int64_t i = 0; i < kBatch; i += 2) {
      x[i] = std::bit_cast<float>(std::min(next, end));
      x[i + 1] = -x[i];
      next += step;
    }
    test::run(code, {x.data(), y.data()});
    for (int64_t i = 0; i < kBatch; ++i) {
      double want = exact(double{x[i]});
      if (flushes && want < std::numeric_limits<float>::min()) want = 0;
      const double error = ulps_f32(y[i], want);
      if (error > worst.ulps) worst = {error, x[i]};
    }
  }
  return worst;
}

#define EXPECT_SWEEP(bound, ...)                                \
  do {                                                          \
    const Worst w = sweep(__VA_ARGS__);                         \
    EXPECT_LE(w.ulps, bound) << "at " << std::hexfloat << w.at; \
    RecordProperty("worst", std::to_string(w.ulps));            \
  } while (false)

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr uint32_t kStep = 1009;

TEST(ExpandMathF32, Exp) { EXPECT_SWEEP(1.1, exp, std::exp, kInf, kStep, true); }
TEST(ExpandMathF32, Log) { EXPECT_SWEEP(1.0, log, std::log, kInf, kStep); }
TEST(ExpandMathF32, Tanh) { EXPECT_SWEEP(2.5, tanh, std::tanh, kInf, kStep); }
TEST(ExpandMathF32, Erf) { EXPECT_SWEEP(1.5, erf, std::erf, kInf, kStep); }
TEST(ExpandMathF32, Rsqrt) {
  EXPECT_SWEEP(1.5, rsqrt, [](double x) { return 1 / std::sqrt(x); }, kInf, kStep);
}
TEST(ExpandMathF32, Sigmoid) {
  // Beyond 87 the result nears the subnormal range.
  EXPECT_SWEEP(2.5, sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 87.0f, kStep);
}
TEST(ExpandMathF32, Sin) { EXPECT_SWEEP(1.5, sin, std::sin, 0x1p49f, kStep); }
TEST(ExpandMathF32, Cos) { EXPECT_SWEEP(1.5, cos, std::cos, 0x1p49f, kStep); }

// Samples of f64 arguments between exp2(from) and exp2(to), both signs.
double sweep_f64(Unary f, long double (*exact)(long double), double from, double to,
                 bool absolute = false) {
  const JitCode code = compile_map(DType::F64, kBatch, f);
  test::Aligned<double> x(kBatch), y(kBatch);
  double worst = 0;
  uint64_t state = 1;
  for (int r = 0; r < 64; ++r) {
    for (int64_t i = 0; i < kBatch; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const double u = static_cast<double>(state >> 11) * 0x1p-53;
      x[i] = std::exp2(from + (to - from) * u) * (i % 2 == 0 ? 1 : -1);
    }
    test::run(code, {x.data(), y.data()});
    for (int64_t i = 0; i < kBatch; ++i) {
      const long double want = exact(x[i]);
      const double error =
          absolute ? static_cast<double>(std::abs(y[i] - want)) * 0x1p52 : ulps_f64(y[i], want);
      if (!(error <= worst)) worst = error;
    }
  }
  return worst;
}

TEST(ExpandMathF64, Exp) { EXPECT_LE(sweep_f64(exp, std::exp, -60, std::log2(708.0)), 1.1); }
TEST(ExpandMathF64, Log) { EXPECT_LE(sweep_f64(log, std::log, -1074, 1023.9), 1.0); }
TEST(ExpandMathF64, LogNearOne) { EXPECT_LE(sweep_f64(log, std::log, -1, 1), 1.0); }
TEST(ExpandMathF64, Tanh) { EXPECT_LE(sweep_f64(tanh, std::tanh, -60, 6), 2.5); }
TEST(ExpandMathF64, Erf) { EXPECT_LE(sweep_f64(erf, std::erf, -60, 4), 2.0); }
TEST(ExpandMathF64, Sigmoid) {
  EXPECT_LE(sweep_f64(sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, -60, 9), 2.5);
}
TEST(ExpandMathF64, Rsqrt) {
  EXPECT_LE(sweep_f64(rsqrt, [](long double x) { return 1 / std::sqrt(x); }, -1074, 1023), 1.5);
}
TEST(ExpandMathF64, SinAbsolute) { EXPECT_LE(sweep_f64(sin, std::sin, -60, 48.9, true), 1.0); }
TEST(ExpandMathF64, CosAbsolute) { EXPECT_LE(sweep_f64(cos, std::cos, -60, 48.9, true), 1.0); }

template <class T>
T evaluate_one(DType t, const std::function<Expr(Expr)>& f, T at) {
  const JitCode code = compile_map(t, 1, f);
  test::Aligned<T> x(1), y(1);
  x[0] = at;
  test::run(code, {x.data(), y.data()});
  return y[0];
}

TEST(ExpandMath, NanPropagates) {
  for (const Unary f : {exp, log, tanh, erf, sigmoid, rsqrt, sin, cos}) {
    EXPECT_TRUE(std::isnan(evaluate_one<float>(DType::F32, f, NAN)));
    EXPECT_TRUE(std::isnan(evaluate_one<double>(DType::F64, f, NAN)));
  }
}

TEST(ExpandMath, ExpIsZeroWhereTheResultWouldBeSubnormal) {
  EXPECT_EQ(evaluate_one<float>(DType::F32, exp, -87.5f), 0.0f);
  EXPECT_EQ(evaluate_one<float>(DType::F32, exp, -kInf), 0.0f);
  EXPECT_EQ(evaluate_one<double>(DType::F64, exp, -708.5), 0.0);
}

TEST(ExpandMath, ExpOverflowsToInfinity) {
  EXPECT_EQ(evaluate_one<float>(DType::F32, exp, 88.8f), kInf);
  EXPECT_LT(evaluate_one<float>(DType::F32, exp, 88.722f), kInf);
  EXPECT_EQ(evaluate_one<double>(DType::F64, exp, 709.79), std::numeric_limits<double>::infinity());
}

TEST(ExpandMath, LogOfSpecialValues) {
  EXPECT_EQ(evaluate_one<float>(DType::F32, log, 0.0f), -kInf);
  EXPECT_EQ(evaluate_one<float>(DType::F32, log, -0.0f), -kInf);
  EXPECT_TRUE(std::isnan(evaluate_one<float>(DType::F32, log, -1.0f)));
  EXPECT_EQ(evaluate_one<float>(DType::F32, log, kInf), kInf);
  EXPECT_EQ(evaluate_one<double>(DType::F64, log, 1.0), 0.0);
}

TEST(ExpandMath, OddFunctionsKeepTheSignOfZero) {
  for (const Unary f : {tanh, erf}) {
    EXPECT_TRUE(std::signbit(evaluate_one<float>(DType::F32, f, -0.0f)));
    EXPECT_FALSE(std::signbit(evaluate_one<float>(DType::F32, f, 0.0f)));
  }
}

TEST(ExpandMath, HalvesComputeInF32AndRoundOnce) {
  // 1.5 in binary16; exp(1.5) = 4.4817 = 0x447b.
  EXPECT_EQ(evaluate_one<uint16_t>(DType::F16, exp, 0x3e00), 0x447b);
}

// pow over all pairs of `values`, as far as C's result is not subnormal.
TEST(ExpandMathPow, AgreesWithCOnSpecialValues) {
  const std::vector<double> values = {0.0,  -0.0,     1,         -1,  2,     -2,
                                      0.5,  -0.5,     3,         -3,  1e10,  1e-10,
                                      7.25, INFINITY, -INFINITY, NAN, 1e300, 4503599627370497.0};
  const auto n = static_cast<int64_t>(values.size());
  for (const DType t : {DType::F64, DType::F32}) {
    const Buffer x = make_buffer("X", DType::F64, {n}, BufferScope::Param);
    const Buffer y = make_buffer("Y", DType::F64, {n, n}, BufferScope::Param);
    const Var i("i"), j("j");
    const Expr value =
        cast(DType::F64, pow(cast(t, make_load(x, {i})), cast(t, make_load(x, {j}))));
    const Stmt nest =
        make_for(i, 0, n, ForKind::Serial,
                 make_for(j, 0, n, ForKind::Vectorized, make_store(y, {i, j}, value)));
    const JitCode code = JitCode::compile(test::kernel_of({x, y}, nest), host_target()).value();
    test::Aligned<double> in(n), out(n * n);
    std::copy(values.begin(), values.end(), in.data());
    test::run(code, {in.data(), out.data()});
    for (int64_t a = 0; a < n; ++a) {
      for (int64_t b = 0; b < n; ++b) {
        const double got = out[a * n + b];
        if (t == DType::F64) {
          const double want = std::pow(in[a], in[b]);
          EXPECT_LE(ulps_f64(got, want), 25) << in[a] << " ^ " << in[b] << " = " << got;
          if (!std::isnan(want)) {
            EXPECT_EQ(std::signbit(got), std::signbit(want)) << in[a] << " ^ " << in[b];
          }
        } else {
          const float want = static_cast<float>(
              std::pow(double{static_cast<float>(in[a])}, double{static_cast<float>(in[b])}));
          EXPECT_LE(ulps_f32(static_cast<float>(got), want), 1) << in[a] << " ^ " << in[b];
        }
      }
    }
  }
}

TEST(ExpandMathPow, ErrorGrowsWithTheExponentOnly) {
  const int64_t n = 1 << 16;
  const Buffer x = make_buffer("X", DType::F64, {n}, BufferScope::Param);
  const Buffer e = make_buffer("E", DType::F64, {n}, BufferScope::Param);
  const Buffer y = make_buffer("Y", DType::F64, {n}, BufferScope::Param);
  const Var i("i");
  const Stmt loop = make_for(i, 0, n, ForKind::Vectorized,
                             make_store(y, {i}, pow(make_load(x, {i}), make_load(e, {i}))));
  const JitCode code = JitCode::compile(test::kernel_of({x, e, y}, loop), host_target()).value();
  test::Aligned<double> in(n), ex(n), out(n);
  uint64_t state = 5;
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  for (int64_t k = 0; k < n; ++k) {
    in[k] = std::exp2(20 * next() - 10);
    ex[k] = (next() * 1400 - 700) / std::max(0.01, std::abs(std::log(in[k])));
  }
  test::run(code, {in.data(), ex.data(), out.data()});
  for (int64_t k = 0; k < n; ++k) {
    const long double l = ex[k] * std::log(static_cast<long double>(in[k]));
    const double bound = 1 + static_cast<double>(std::abs(l)) / 8;
    ASSERT_LE(ulps_f64(out[k], std::exp(l)), bound) << in[k] << " ^ " << ex[k];
  }
}

TEST(ExpandMathPow, SmallIntegerExponentsAreExactProducts) {
  EXPECT_EQ(evaluate_one<float>(
                DType::F32, [](Expr x) { return pow(x, Expr(2.0f)); }, -1.1f),
            -1.1f * -1.1f);
}

TEST(ExpandMath, EqualCallsAreExpandedOnce) {
  const Buffer y = make_buffer("Y", DType::F32, {1}, BufferScope::Param);
  const Buffer x = make_buffer("X", DType::F32, {1}, BufferScope::Param);
  const auto lets = [&](Expr value) {
    int count = 0;
    visit(
        expand_math(make_store(y, {0}, std::move(value))),
        [&](const Stmt& s) {
          count += s.kind() == StmtKind::Let;
          return true;
        },
        [](const Expr&) { return false; });
    return count;
  };
  const Expr e = exp(make_load(x, {0})), again = exp(make_load(x, {0}));
  EXPECT_EQ(lets(e + again), lets(e));
}

}  // namespace
}  // namespace espalier
