// Every operation and cast in machine code, scalar and vector, against what it means
// (ir/scalar_ops.h), on the values where types end and on random bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "espalier/codegen/test_kernels.h"
#include "espalier/ir/scalar_ops.h"

namespace espalier {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

constexpr DType kTypes[] = {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I8,
                            DType::I16, DType::I32, DType::I64, DType::U8,   DType::U16,
                            DType::U32, DType::U64, DType::Bool};

std::vector<ScalarBits> edge_values(DType t) {
  std::vector<ScalarBits> values;
  if (is_float(t)) {
    for (const double v : {0.0,        -0.0,
                           1.0,        -1.0,
                           0.5,        -0.5,
                           1.5,        2.5,
                           -2.5,       3.0,
                           7.25,       127.0,
                           128.,       255.5,
                           256.0,      32767.5,
                           65504.0,    65520.0,
                           1e-8,       5.9e-8,
                           6e-8,       6.2e-5,
                           1e9,        2.15e9,
                           9.3e18,     1.9e19,
                           -9.3e18,    -1e-40,
                           1.2e-38,    1e300,
                           1e-310,     0.23504638671874997,
                           16777217.0, 4503599627370497.5,
                           kInf,       -kInf,
                           kNan}) {
      values.push_back(bits_from_double(t, v));
    }
  } else if (t == DType::Bool) {
    return {0, 1};
  } else {
    for (const int64_t v : {int64_t{0},
                            int64_t{1},
                            int64_t{-1},
                            int64_t{2},
                            int64_t{-2},
                            int64_t{3},
                            int64_t{7},
                            int64_t{-7},
                            int64_t{31},
                            int64_t{33},
                            int64_t{64},
                            int_min(t),
                            int_min(t) + 1,
                            int_max(t),
                            int_max(t) - 1,
                            int64_t{127},
                            int64_t{255},
                            int64_t{1} << 24 | 1,
                            (int64_t{1} << 53) + 1,
                            (int64_t{1} << 62) + (int64_t{1} << 54) + 1}) {
      values.push_back(bits_from_int(t, v));
    }
  }
  return values;
}

std::vector<ScalarBits> values_of(DType t) {
  std::vector<ScalarBits> values = edge_values(t);
  uint64_t state = 42;
  for (int i = 0; i < 20 && t != DType::Bool; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t random = state >> 32 | state << 32;
    char bytes[8];
    std::memcpy(bytes, &random, sizeof bytes);
    values.push_back(load_scalar(t, bytes));
  }
  return values;
}

bool same(DType t, ScalarBits a, ScalarBits b) {
  if (is_float(t) && std::isnan(double_from_bits(t, a)) && std::isnan(double_from_bits(t, b))) {
    return true;
  }
  return a == b;
}

struct Case {
  std::string name;
  DType type;  // of the result
  std::function<Expr(Expr, Expr)> build;
  std::function<ScalarBits(ScalarBits, ScalarBits)> meaning;
};

// Runs the cases on all pairs of values of type `t`.
void check(DType t, const std::vector<Case>& cases, const Target& target, ForKind kind) {
  const std::vector<ScalarBits> values = values_of(t);
  const auto n = static_cast<int64_t>(values.size() * values.size());
  const Buffer x = make_buffer("X", t, {n}, BufferScope::Param);
  const Buffer y = make_buffer("Y", t, {n}, BufferScope::Param);
  std::vector<Buffer> params{x, y};
  const Var i("i");
  std::vector<Stmt> stores;
  for (const Case& c : cases) {
    params.push_back(make_buffer("Z", c.type, {n}, BufferScope::Param));
    stores.push_back(
        make_for(i, 0, n, kind,
                 make_store(params.back(), {i}, c.build(make_load(x, {i}), make_load(y, {i})))));
  }
  const LoweredKernel kernel = test::kernel_of(params, make_block(std::move(stores)));
  const JitCode code = JitCode::compile(kernel, target).value();
  test::Memory memory(kernel.main);
  const auto size = static_cast<int64_t>(bytes_of(t));
  for (int64_t k = 0; k < n; ++k) {
    const auto count = static_cast<int64_t>(values.size());
    store_scalar(t, memory.as<char>(0) + k * size, values[static_cast<size_t>(k / count)]);
    store_scalar(t, memory.as<char>(1) + k * size, values[static_cast<size_t>(k % count)]);
  }
  ASSERT_EQ(test::run(code, memory.pointers()), 0);
  for (size_t c = 0; c < cases.size(); ++c) {
    for (int64_t k = 0; k < n; ++k) {
      const ScalarBits a = load_scalar(t, memory.as<char>(0) + k * size);
      const ScalarBits b = load_scalar(t, memory.as<char>(1) + k * size);
      const ScalarBits got =
          load_scalar(cases[c].type, memory.as<char>(c + 2) + k * bytes_of(cases[c].type));
      const ScalarBits want = cases[c].meaning(a, b);
      ASSERT_TRUE(same(cases[c].type, got, want))
          << cases[c].name << " of " << name_of(t) << " on " << to_string(target) << ": "
          << std::hex << a << ", " << b << " gives " << got << " instead of " << want;
    }
  }
}

void check_everywhere(DType t, const std::vector<Case>& cases) {
  if (cases.empty()) return;
  for (const Target& target : {test::avx512(), test::avx2(), test::sse()}) {
    if (!target.runs_on(host_target())) continue;
    for (const ForKind kind : {ForKind::Serial, ForKind::Vectorized}) {
      check(t, cases, target, kind);
    }
  }
}

class Arithmetic : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, Arithmetic, testing::ValuesIn(kTypes),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(Arithmetic, BinaryOperations) {
  std::vector<Case> cases;
  for (int o = 0; o <= static_cast<int>(BinaryOp::Ne); ++o) {
    const auto op = static_cast<BinaryOp>(o);
    if (!is_defined(op, GetParam()) || op == BinaryOp::Pow) continue;
    cases.push_back(
        {std::string(name_of(op)), is_comparison(op) ? DType::Bool : GetParam(),
         [op](Expr a, Expr b) { return make_binary(op, a, b); },
         [op, t = GetParam()](ScalarBits a, ScalarBits b) { return apply(op, t, a, b); }});
  }
  check_everywhere(GetParam(), cases);
}

TEST_P(Arithmetic, UnaryOperations) {
  std::vector<Case> cases;
  for (int o = 0; o < static_cast<int>(UnaryOp::Exp); ++o) {
    const auto op = static_cast<UnaryOp>(o);
    if (!is_defined(op, GetParam())) continue;
    cases.push_back({std::string(name_of(op)), GetParam(),
                     [op](Expr a, Expr) { return make_unary(op, a); },
                     [op, t = GetParam()](ScalarBits a, ScalarBits) { return apply(op, t, a); }});
  }
  check_everywhere(GetParam(), cases);
}

TEST_P(Arithmetic, FmaAndSelect) {
  const DType t = GetParam();
  std::vector<Case> cases{
      {"select", t,
       [](Expr a, Expr b) { return make_select(make_binary(BinaryOp::Lt, a, b), b, a); },
       [t](ScalarBits a, ScalarBits b) { return apply(BinaryOp::Lt, t, a, b) != 0 ? b : a; }}};
  if (is_float(t)) {
    cases.push_back({"fma", t, [](Expr a, Expr b) { return make_fma(a, b, a); },
                     [t](ScalarBits a, ScalarBits b) { return apply_fma(t, a, b, a); }});
  }
  check_everywhere(t, cases);
}

TEST_P(Arithmetic, Casts) {
  std::vector<Case> cases;
  for (const DType to : kTypes) {
    cases.push_back(
        {"cast to " + std::string(name_of(to)), to, [to](Expr a, Expr) { return make_cast(to, a); },
         [from = GetParam(), to](ScalarBits a, ScalarBits) { return apply_cast(from, to, a); }});
  }
  check_everywhere(GetParam(), cases);
}

TEST_P(Arithmetic, DivisionByConstants) {
  const DType t = GetParam();
  std::vector<Case> cases;
  for (const BinaryOp op :
       {BinaryOp::FloorDiv, BinaryOp::FloorMod, BinaryOp::TruncDiv, BinaryOp::TruncMod}) {
    if (!is_defined(op, t) || is_float(t)) continue;
    for (const ScalarBits c : edge_values(t)) {
      if (op == BinaryOp::FloorMod && cases.size() % 3 == 1) continue;  // enough of them
      cases.push_back(
          {std::string(name_of(op)) + " by constant " + std::to_string(static_cast<int64_t>(c)), t,
           [op, t, c](Expr a, Expr) {
             return make_binary(op, a, make_int(t, static_cast<int64_t>(c)));
           },
           [op, t, c](ScalarBits a, ScalarBits) { return apply(op, t, a, c); }});
    }
  }
  check_everywhere(t, cases);
}

TEST_P(Arithmetic, LaneReductions) {
  const DType t = GetParam();
  for (const BinaryOp op :
       {BinaryOp::Add, BinaryOp::Mul, BinaryOp::Min, BinaryOp::Max, BinaryOp::And, BinaryOp::Or}) {
    if (!is_defined(op, t)) continue;
    for (const int lanes : {2, 3, 5, 8, 13}) {
      const Buffer x = make_buffer("X", t, {lanes}, BufferScope::Param);
      const Buffer y = make_buffer("Y", t, {1}, BufferScope::Param);
      const Expr all = make_load(x, {make_ramp(make_index(0), 1, lanes)});
      const LoweredKernel kernel =
          test::kernel_of({x, y}, make_store(y, {0}, make_lane_reduce(op, all)));
      test::expect_same(kernel, host_target());
    }
  }
}

// Reported faults, by their numbers in the list of cases: each the exact value.
ScalarBits binary_of(BinaryOp op, DType t, ScalarBits a, ScalarBits b) {
  const Buffer x = make_buffer("X", t, {2}, BufferScope::Param);
  const Buffer y = make_buffer("Y", t, {1}, BufferScope::Param);
  const LoweredKernel kernel = test::kernel_of(
      {x, y}, make_store(y, {0}, make_binary(op, make_load(x, {0}), make_load(x, {1}))));
  const JitCode code = JitCode::compile(kernel, host_target()).value();
  char in[16], out[8];
  store_scalar(t, in, a);
  store_scalar(t, in + bytes_of(t), b);
  test::run(code, {in, out});
  return load_scalar(t, out);
}

// By way of f64 or f32 the numbers next to a tie would become the tie and round the other way.
TEST(Casts, IntegersRoundOnceToHalves) {
  const auto to_half = [](DType from, DType to, ScalarBits bits) {
    const Buffer x = make_buffer("X", from, {16}, BufferScope::Param);
    const Buffer y = make_buffer("Y", to, {16}, BufferScope::Param);
    const Var i("i");
    const LoweredKernel kernel =
        test::kernel_of({x, y}, make_for(i, 0, 16, ForKind::Vectorized,
                                         make_store(y, {i}, make_cast(to, make_load(x, {i})))));
    const JitCode code = JitCode::compile(kernel, host_target()).value();
    test::Aligned<uint64_t> in(16), out(16);
    for (int lane = 0; lane < 16; ++lane) {
      store_scalar(from, reinterpret_cast<std::byte*>(in.data()) + lane * bytes_of(from), bits);
    }
    test::run(code, {in.data(), out.data()});
    return double_from_bits(to, load_scalar(to, out.data()));
  };
  for (const int power : {20, 30, 54}) {
    const DType from = power < 30 ? DType::I32 : DType::I64;
    const int64_t tie = int64_t{257} << power, even = int64_t{256} << power;
    const double up = std::ldexp(258, power);
    const auto bf16 = [&](int64_t v) { return to_half(from, DType::BF16, bits_from_int(from, v)); };
    EXPECT_EQ(bf16(tie), static_cast<double>(even)) << power;
    EXPECT_EQ(bf16(tie + 1), up) << power;
    EXPECT_EQ(bf16(-tie - 1), -up) << power;
    EXPECT_EQ(bf16(tie - 1), static_cast<double>(even)) << power;
  }
  // f16 has 11 bits and ends at 65504: 65520 is the tie to infinity.
  EXPECT_EQ(to_half(DType::I64, DType::F16, 2049), 2048);
  EXPECT_EQ(to_half(DType::I64, DType::F16, 65519), 65504);
  EXPECT_EQ(to_half(DType::I64, DType::F16, 65520), kInf);
  EXPECT_EQ(to_half(DType::U64, DType::BF16, UINT64_MAX), 0x1p64);
}

TEST(ReportedFaults, A8DivisionByOneKeepsNegatives) {
  for (const int64_t n : {-128, -5, 0, 7}) {
    EXPECT_EQ(binary_of(BinaryOp::TruncDiv, DType::I8, bits_from_int(DType::I8, n), 1),
              bits_from_int(DType::I8, n));
  }
}

TEST(ReportedFaults, A10FloorAndTruncationDiffer) {
  const auto i = [](int64_t v) { return bits_from_int(DType::I64, v); };
  EXPECT_EQ(binary_of(BinaryOp::FloorDiv, DType::I64, i(-21), i(5)), i(-5));
  EXPECT_EQ(binary_of(BinaryOp::FloorMod, DType::I64, i(-21), i(5)), i(4));
  EXPECT_EQ(binary_of(BinaryOp::TruncDiv, DType::I64, i(-5), i(2)), i(-2));
}

TEST(ReportedFaults, A14LanesPastTheEndDoNotDivideByZero) {
  const Buffer y = make_buffer("Y", DType::I32, {25}, BufferScope::Param);
  const Var i("i");
  const Expr value = make_int(DType::I32, 100) / (make_int(DType::I32, 27) - cast(DType::I32, i));
  const LoweredKernel kernel =
      test::kernel_of({y}, make_for(i, 0, 25, ForKind::Vectorized, make_store(y, {i}, value)));
  test::expect_same_everywhere(kernel);
  const JitCode code = JitCode::compile(kernel, host_target()).value();
  test::Aligned<int32_t> out(25);
  test::run(code, {out.data()});
  EXPECT_EQ(out[0], 3);
  EXPECT_EQ(out[24], 33);
}

TEST(ReportedFaults, B13UnsignedWraps) {
  EXPECT_EQ(binary_of(BinaryOp::Sub, DType::U32, 0, 2), 4294967294u);
}

TEST(ReportedFaults, D1MaxIsNanIfEitherIs) {
  const ScalarBits nan = bits_from_double(DType::F32, NAN), one = bits_from_double(DType::F32, 1);
  EXPECT_TRUE(
      std::isnan(double_from_bits(DType::F32, binary_of(BinaryOp::Max, DType::F32, nan, one))));
  EXPECT_TRUE(
      std::isnan(double_from_bits(DType::F32, binary_of(BinaryOp::Max, DType::F32, one, nan))));
}

}  // namespace
}  // namespace espalier
