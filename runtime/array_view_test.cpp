#include "espalier/runtime/array_view.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

class AddressRange : public ::testing::Test {
 protected:
  // The range as byte offsets from the first element.
  std::pair<int64_t, int64_t> range(std::vector<int64_t> shape, std::vector<int64_t> strides) {
    const ArrayView view(memory_ + 500, DType::F32, std::move(shape), std::move(strides));
    const auto [first, second] = view.address_range();
    const auto base = reinterpret_cast<uintptr_t>(memory_ + 500);
    if (first == 0) return {0, 0};
    return {static_cast<int64_t>(first - base), static_cast<int64_t>(second - base)};
  }
  float memory_[1000] = {};
};

TEST_F(AddressRange, OfADenseArrayIsAllOfIt) {
  EXPECT_EQ(range({2, 3}, {3, 1}), (std::pair<int64_t, int64_t>{0, 24}));
}
TEST_F(AddressRange, OfAScalarIsAnElement) {
  EXPECT_EQ(range({}, {}), (std::pair<int64_t, int64_t>{0, 4}));
}
TEST_F(AddressRange, CoversGapsBetweenRows) {
  EXPECT_EQ(range({2, 3}, {10, 1}), (std::pair<int64_t, int64_t>{0, 52}));
}
TEST_F(AddressRange, ReachesBackwardsWithNegativeStrides) {
  EXPECT_EQ(range({2, 3}, {3, -1}), (std::pair<int64_t, int64_t>{-8, 16}));
}
TEST_F(AddressRange, OfABroadcastIsWhatIsThere) {
  EXPECT_EQ(range({100, 3}, {0, 1}), (std::pair<int64_t, int64_t>{0, 12}));
}
TEST_F(AddressRange, OfAnEmptyArrayIsEmpty) {
  EXPECT_EQ(range({100, 0}, {1, 1}), (std::pair<int64_t, int64_t>{0, 0}));
}

TEST(ArrayView, ShapesAndIndicesPrint) {
  EXPECT_EQ(shape_to_string({}), "[]");
  EXPECT_EQ(shape_to_string({2, 3}), "[2, 3]");
  EXPECT_EQ(index_to_string(7, {2, 5}), "[1, 2]");
}

}  // namespace
}  // namespace espalier
