// Small inputs that broke other compilers by the values they give, in machine code without a
// schedule and with the default one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "agreement.h"
#include "espalier/cost_model/features.h"
#include "espalier/ir/ops/workload.h"
#include "espalier/runtime/kernel.h"
#include "espalier/search/default_schedule.h"
#include "machine_values.h"

namespace espalier {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const double kNaN = NAN, kInf = INFINITY;

MATCHER(IsNaN, "") { return std::isnan(arg); }

// A function of one input over a vector, so that lanes and a tail both meet its values.
std::vector<double> map_vector(DType from, const std::string& type, const std::string& value,
                               std::vector<double> inputs) {
  const auto n = static_cast<int64_t>(inputs.size());
  const std::string extent = std::to_string(n);
  const std::string dag = "A = placeholder " + std::string(name_of(from)) + "[" + extent +
                          "]\nY[i: " + extent + "] = " + type + "(" + value + ")\nreturn Y\n";
  const std::vector<double> y =
      run(dag, "Y: split i -> i.0 i.1 by 4\nY: vectorize i.1\n", {array_of(from, {n}, inputs)});
  EXPECT_THAT(run(dag, "", {array_of(from, {n}, inputs)}),
              ::testing::Pointwise(::testing::Truly([](const auto& pair) {
                                     const double a = std::get<0>(pair), b = std::get<1>(pair);
                                     return a == b || (std::isnan(a) && std::isnan(b));
                                   }),
                                   y));
  return y;
}

TEST(ReportedValues, A2CeilDivisionOfTheSmallestNumber) {
  EXPECT_THAT(map_vector(DType::I64, "i64", "floordiv(A[i] + 1189465981i64, 1189465982i64)",
                         {-0x1p63, -0x1p63, -0x1p63, -0x1p63, -0x1p63}),
              Each(-7754212542.0));
  EXPECT_THAT(map_vector(DType::I32, "i32", "floordiv(A[i] + 6i32, 7i32)",
                         {-0x1p31, -0x1p31, -0x1p31, -0x1p31, -0x1p31}),
              Each(-306783378.0));
}

TEST(ReportedValues, A6A10FloorAndTruncation) {
  EXPECT_THAT(map_vector(DType::I64, "i64", "floordiv(A[i] * 48i64 + 241i64, 16i64)",
                         {-10, -10, -10, -10, -10}),
              Each(-15.0));
  EXPECT_THAT(map_vector(DType::I64, "i64", "truncdiv(A[i] * 48i64 + 241i64, 16i64)",
                         {-10, -10, -10, -10, -10}),
              Each(-14.0));
  EXPECT_THAT(map_vector(DType::I32, "i32", "floordiv(A[i], 5i32) * 100i32 + floormod(A[i], 5i32)",
                         {-21, -21, -21, -21, -21}),
              Each(-496.0));
}

TEST(ReportedValues, A12DivisionOfDataTruncates) {
  EXPECT_THAT(run_untiled_and_default(
                  "elementwise:op=div,shape=3,dtype=i32",
                  {array_of(DType::I32, {3}, {-5, 5, 386}), array_of(DType::I32, {3}, {2, 2, 3})}),
              ElementsAre(-2, 2, 128));
}

TEST(ReportedValues, C11FeaturesOfEmptyTensorsAreFinite) {
  for (const char* spec :
       {"reduce:op=sum,shape=0x10,axes=1", "reduce:op=sum,shape=10x0,axes=1", "matmul:m=0,n=4,k=4",
        "matmul:m=4,n=4,k=0", "softmax:rows=0,cols=4", "elementwise:op=relu,shape=0"}) {
    const Task task{load_workload(spec).value(), host_target(), 2, spec};
    const State state = replay(task, default_candidate(task)).take();
    for (const float f : features_of(state, data_sheet(task.target))) {
      EXPECT_TRUE(std::isfinite(f)) << spec;
    }
  }
}

TEST(ReportedValues, C13FirstOfEqualsAndAnAxisOfExtentOne) {
  EXPECT_THAT(run_untiled_and_default("reduce:op=argmax,shape=3,axes=0",
                                      {array_of(DType::F32, {3}, {3, 7, 7})}),
              ElementsAre(1));
  EXPECT_THAT(run_untiled_and_default("reduce:op=argmax,shape=40x900x1,axes=2",
                                      {filled(DType::F32, {40, 900, 1}, 0)}),
              Each(0.0));
}

// In f32 a million equal terms added one after the other are off by a hundred times the bound.
TEST(ReportedValues, C15SumOfEqualTerms) {
  constexpr std::string_view kBroadcast =
      "A = placeholder f32[]\n"
      "B[i: 1000, j: 1000] = A[]\n"
      "S[] = sum[i: 1000, j: 1000](B[i, j])\n"
      "return S\n";
  constexpr std::string_view kCopied =
      "A = placeholder f32[1000, 1000]\n"
      "S[] = sum[i: 1000, j: 1000](A[i, j])\n"
      "return S\n";
  for (const std::string_view dag : {kBroadcast, kCopied}) {
    for (const int threads : {1, 2}) {
      Task task = task_of(dag);
      task.threads = threads;
      const Array a = filled(DType::F32, task.dag.stage(task.dag.inputs()[0]).tensor->shape, 1.01);
      const std::vector<double> sum = run(task, default_candidate(task).trace(), {a});
      // u * (16 + 2 sqrt(R)) times the sum of the terms.
      EXPECT_NEAR(sum[0], 1e6 * static_cast<double>(1.01f), 0x1p-24 * 2016 * 1.01e6) << dag;
    }
  }
}

TEST(ReportedValues, D3FirstNaNIsTheExtremum) {
  const auto argmax = [](const std::vector<double>& values) {
    return run_untiled_and_default("reduce:op=argmax,shape=5,axes=0",
                                   {array_of(DType::F32, {5}, values)})[0];
  };
  EXPECT_EQ(argmax({2, kNaN, 7, 4, 1}), 1);
  EXPECT_EQ(argmax({kNaN, 2, 7, 4, 1}), 0);
  EXPECT_EQ(argmax({2, 4, 7, 1, kNaN}), 4);
}

// Our rule: min and max give NaN if either side is NaN, so a limit that is NaN leaves nothing else.
TEST(ReportedValues, D5ClipToALimitThatIsNaN) {
  constexpr std::string_view kClip =
      "A = placeholder f32[5]\n"
      "L = placeholder f32[]\n"
      "Y[i: 5] = min(max(A[i], 0.0f32), L[])\n"
      "return Y\n";
  const Array a = array_of(DType::F32, {5}, {0.5, -3, 4.5, 11, kNaN});
  EXPECT_THAT(run_untiled_and_default(kClip, {a, filled(DType::F32, {}, kNaN)}), Each(IsNaN()));
  EXPECT_THAT(run_untiled_and_default(kClip, {a, filled(DType::F32, {}, 10)}),
              ElementsAre(0.5, 0, 4.5, 10, IsNaN()));
}

TEST(ReportedValues, D7CastsSaturateAndNaNIsZeroOrTrue) {
  EXPECT_THAT(map_vector(DType::F32, "i8", "A[i]", {300, kNaN, kInf, -kInf, 50, -50}),
              ElementsAre(127, 0, 127, -128, 50, -50));
  EXPECT_THAT(map_vector(DType::F32, "bool", "A[i]", {kNaN, 0, -0.0, 1, kNaN, kNaN}),
              ElementsAre(1, 0, 0, 1, 1, 1));
}

TEST(ReportedValues, E1E3HalvesRoundOnceAndKeepSubnormals) {
  std::vector<double> floats;
  for (const uint32_t bits : {0x33000000u, 0x33000001u, 0x33400000u, 0x337fffffu, 0x33800000u,
                              0x33c00000u, 0x387fe000u}) {
    floats.push_back(std::bit_cast<float>(bits));
  }
  const double least = 0x1p-24;
  EXPECT_THAT(map_vector(DType::F32, "f16", "A[i]", floats),
              ElementsAre(0, least, least, least, least, 2 * least, 0x1p-14));
  // 0x3385, and by way of f32 0x3386.
  EXPECT_THAT(map_vector(DType::F64, "f16", "A[i]", std::vector<double>(5, 0.23504638671874997)),
              Each((1 + 0x385 / 1024.0) / 8));
}

TEST(ReportedValues, F1ZeroPointsOfAQuantisedProduct) {
  EXPECT_THAT(run_untiled_and_default(
                  "A = placeholder u8[3, 3]\n"
                  "B = placeholder i8[3, 3]\n"
                  "Y[i: 3, j: 3] = sum[k: 3]((i32(A[i, k]) - 42i32) * (i32(B[k, j]) + 26i32))\n"
                  "return Y\n",
                  {array_of(DType::U8, {3, 3}, {238, 115, 94, 245, 111, 102, 158, 225, 48}),
                   array_of(DType::I8, {3, 3}, {25, 36, 125, 42, -123, 76, -81, -86, 35})}),
              ElementsAre(12100, 1951, 40214, 11745, 2293, 41351, 18030, -10919, 36548));
}

TEST(ReportedValues, F3QuantisationAtTheBorder) {
  EXPECT_THAT(map_vector(DType::F32, "i8", "round(A[i] / 1.0f32) + 0.0f32",
                         {-129, -128, -127, -126, 126, 127, 128, 129}),
              ElementsAre(-128, -128, -127, -126, 126, 127, 127, 127));
}

TEST(ReportedValues, G11GroupedTransposedConvolution) {
  // One pixel, a kernel of one, two groups of one channel.
  EXPECT_THAT(
      run_untiled_and_default(
          "X = placeholder f32[1, 1, 1, 2]\n"
          "W = placeholder f32[1, 1, 1, 2]\n"
          "Y[n: 1, h: 1, w: 1, c: 2] = sum[r: 1, s: 1, i: 1](X[n, h - r, w - s, c + i] * "
          "W[r, s, i, c], where=h - r >= 0 && w - s >= 0)\n"
          "return Y\n",
          {array_of(DType::F32, {1, 1, 1, 2}, {1, 2}), array_of(DType::F32, {1, 1, 1, 2}, {3, 5})}),
      ElementsAre(3, 10));
}

TEST(ReportedValues, I1NegativeIndicesCountFromTheEnd) {
  EXPECT_THAT(run_untiled_and_default("T = placeholder f32[5]\n"
                                      "X = placeholder i64[3] in [-5, 5)\n"
                                      "Y[i: 3] = T[select(X[i] < 0, X[i] + 5, X[i])]\n"
                                      "return Y\n",
                                      {array_of(DType::F32, {5}, {1, 2, 3, 4, 5}),
                                       array_of(DType::I64, {3}, {-1, -3, 0})}),
              ElementsAre(5, 3, 1));
}

TEST(ReportedValues, I3AnIndexFarOutOfRangeIsAnError) {
  const Task task{load_workload("embedding:rows=3,cols=4,vocab=8").value(), host_target(), 1, ""};
  const Kernel kernel = compile(replay(task, default_candidate(task)).take()).value();
  std::vector<Array> inputs;
  for (const int s : task.dag.inputs()) {
    const TensorNode& t = *task.dag.stage(s).tensor.get();
    inputs.push_back(filled(t.dtype, t.shape, is_float(t.dtype) ? 1 : -0x1p31));
  }
  std::vector<ArrayView> constants;
  std::vector<Array> memory;
  for (const int s : task.dag.constants()) {
    const TensorNode& t = *task.dag.stage(s).tensor.get();
    memory.push_back(filled(t.dtype, t.shape, 1));
    constants.emplace_back(memory.back());
  }
  const Kernel bound = kernel.bind(constants).value();
  const auto done = bound.run(inputs, bound.make_outputs());
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, HasSubstr("-2147483648"));
}

// I7: a transposed view is refused (Kernel tests say in which words). I9: so is computing in place.
TEST(ReportedValues, I9AnOutputThatIsTheInputIsRefused) {
  const Task task = task_of(
      "X = placeholder f32[8]\n"
      "Y[i: 7] = X[i] + X[i + 1]\n"
      "return Y\n");
  const Kernel kernel = compile(replay(task, Trace()).state()).value();
  const Array x = filled(DType::F32, {8}, 1);
  const ArrayView y(x.data(), DType::F32, {7});
  const auto done = kernel.run(std::vector<ArrayView>{x}, std::vector<ArrayView>{y});
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, HasSubstr("shares memory with input 'X'"));
  EXPECT_THAT(values_of(x), Each(1.0));
}

TEST(ReportedValues, I11OffsetsPastTwoToThe31) {
  // Of each array only the last element is real memory: its address is what is tested.
  const Task task = task_of(
      "A = placeholder u8[70000, 70000]\n"
      "Y[] = A[69999, 69999]\n"
      "return Y\n");
  const Kernel kernel = compile(replay(task, Trace()).state()).value();
  alignas(64) uint8_t memory[128] = {};
  // 4899999999 is 63 more than a multiple of 64.
  memory[63] = 42;
  const auto base = reinterpret_cast<uintptr_t>(memory) + 63 - uintptr_t{4899999999};
  const ArrayView a(reinterpret_cast<void*>(base), DType::U8, {70000, 70000});
  const Array y(DType::U8, {});
  ASSERT_EQ(base % 64, 0u);
  kernel.run(std::vector<ArrayView>{a}, std::vector<ArrayView>{y}).value();
  EXPECT_EQ(y.get(0), 42);
}

}  // namespace
}  // namespace espalier
