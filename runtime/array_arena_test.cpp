#include "espalier/runtime/array_arena.h"

#include <gtest/gtest.h>

#include <set>

namespace espalier {
namespace {

int64_t address(const std::byte* at) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(at));
}

TEST(ArrayArena, BuffersStartAtMultiplesOf64Bytes) {
  const std::vector<int64_t> bytes = {1, 4096, 0, 12345, 64};
  const ArrayArena arena = ArrayArena::make(bytes).value();
  ASSERT_EQ(arena.size(), 5);
  for (int i = 0; i < arena.size(); ++i) EXPECT_EQ(address(arena[i]) % 64, 0) << i;
}

TEST(ArrayArena, NoTwoBuffersShareAnOffsetModulo4KiB) {
  const std::vector<int64_t> bytes(64, 4096);
  const ArrayArena arena = ArrayArena::make(bytes).value();
  std::set<int64_t> offsets;
  for (int i = 0; i < arena.size(); ++i) offsets.insert(address(arena[i]) % 4096);
  EXPECT_EQ(offsets.size(), 64u);
}

TEST(ArrayArena, NumbersContinueAcrossArenas) {
  const std::vector<int64_t> three = {100, 100, 100}, one = {100};
  const ArrayArena first = ArrayArena::make(three).value();
  const ArrayArena second = ArrayArena::make(one, 3).value();
  for (int i = 0; i < 3; ++i) EXPECT_NE(address(first[i]) % 4096, address(second[0]) % 4096);
}

TEST(ArrayArena, BuffersDoNotOverlap) {
  const std::vector<int64_t> bytes = {5000, 100, 4096, 1};
  const ArrayArena arena = ArrayArena::make(bytes).value();
  for (int i = 0; i + 1 < arena.size(); ++i) {
    EXPECT_GE(arena[i + 1], arena[i] + bytes[static_cast<size_t>(i)]) << i;
  }
}

TEST(ArrayArena, SizesThatOverflowAreAnError) {
  const std::vector<int64_t> bytes = {INT64_MAX - 10, INT64_MAX - 10};
  EXPECT_EQ(ArrayArena::make(bytes).error().code, ErrorCode::Resource);
}

TEST(ArrayArena, MoreMemoryThanThereIsIsAnError) {
  const std::vector<int64_t> bytes = {int64_t{1} << 60};
  EXPECT_EQ(ArrayArena::make(bytes).error().code, ErrorCode::Resource);
}

}  // namespace
}  // namespace espalier
