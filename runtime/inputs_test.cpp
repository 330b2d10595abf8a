#include "espalier/runtime/inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace espalier {
namespace {

bool same(const Array& a, const Array& b) {
  return a.bytes() == b.bytes() && memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
}

TEST(Inputs, FloatsAreFarFromZeroAndOfBothSigns) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    const Array array = make_input(*placeholder("A", {1000}, dtype), 1, 0);
    int negative = 0;
    for (int64_t i = 0; i < array.elements(); ++i) {
      EXPECT_GE(std::fabs(array.get(i)), 0.25);
      EXPECT_LE(std::fabs(array.get(i)), 1.25);
      negative += array.get(i) < 0 ? 1 : 0;
    }
    EXPECT_GT(negative, 150);
    EXPECT_LT(negative, 350);
  }
}

TEST(Inputs, IndicesStayInTheirRange) {
  const Array array =
      make_input(*placeholder("I", {1000}, DType::I32, std::pair<int64_t, int64_t>{-3, 5}), 1, 0);
  bool lowest = false, highest = false;
  for (int64_t i = 0; i < array.elements(); ++i) {
    ASSERT_GE(array.get_int(i), -3);
    ASSERT_LT(array.get_int(i), 5);
    lowest |= array.get_int(i) == -3;
    highest |= array.get_int(i) == 4;
  }
  EXPECT_TRUE(lowest && highest);
}

TEST(Inputs, IntegersAreSmallAndLarge) {
  const Array array = make_input(*placeholder("A", {1000}, DType::I32), 1, 0);
  int small = 0, large = 0, negative = 0;
  for (int64_t i = 0; i < array.elements(); ++i) {
    const int64_t value = array.get_int(i);
    small += std::llabs(value) < 100 ? 1 : 0;
    large += std::llabs(value) > 1 << 28 ? 1 : 0;
    negative += value < 0 ? 1 : 0;
  }
  EXPECT_GT(small, 50);
  EXPECT_GT(large, 50);
  EXPECT_GT(negative, 300);
}

TEST(Inputs, SameSeedSameValues) {
  const Tensor a = placeholder("A", {100}), b = placeholder("B", {100});
  EXPECT_TRUE(same(make_input(*a, 7, 2), make_input(*b, 7, 2)));
}

TEST(Inputs, SeedsAndPositionsDiffer) {
  const Tensor a = placeholder("A", {100});
  EXPECT_FALSE(same(make_input(*a, 7, 2), make_input(*a, 8, 2)));
  EXPECT_FALSE(same(make_input(*a, 7, 2), make_input(*a, 7, 3)));
}

TEST(Inputs, ComeInTheOrderOfInputsThenConstants) {
  const Tensor w = constant("W", {3}), x = placeholder("X", {3}, DType::F64);
  const Tensor y = compute("Y", {3}, [&](Var i) { return cast(DType::F64, w(i)) * x(i); });
  const ComputeDag dag = ComputeDag::make({y}).value();
  const std::vector<Array> arrays = make_inputs(dag, 1);
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].dtype(), DType::F64);
  EXPECT_EQ(arrays[1].dtype(), DType::F32);
}

}  // namespace
}  // namespace espalier
