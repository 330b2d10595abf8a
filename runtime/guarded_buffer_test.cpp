#include "espalier/runtime/guarded_buffer.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

// A write that the compiler neither removes nor reasons about.
void poke(std::byte* at) { *const_cast<volatile std::byte*>(at) = std::byte{1}; }
std::byte peek(const std::byte* at) { return *const_cast<const volatile std::byte*>(at); }

TEST(GuardedBuffer, AllBytesCanBeUsed) {
  const GuardedBuffer buffer = GuardedBuffer::make(10000).value();
  buffer.fill(std::byte{0xff});
  for (int64_t i = 0; i < buffer.bytes(); ++i) ASSERT_EQ(peek(buffer.data() + i), std::byte{0xff});
}

TEST(GuardedBuffer, IsAligned) {
  for (const int64_t bytes : {0, 1, 63, 64, 65, 4095, 4096, 4097}) {
    const GuardedBuffer buffer = GuardedBuffer::make(bytes).value();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u) << bytes;
  }
}

TEST(GuardedBufferDeathTest, AccessPastAFlushEndFaults) {
  const GuardedBuffer buffer = GuardedBuffer::make(4096 + 64).value();
  EXPECT_DEATH(poke(buffer.data() + buffer.bytes()), "");
  EXPECT_DEATH(peek(buffer.data() + buffer.bytes()), "");
}

TEST(GuardedBufferDeathTest, AnyEndIsFlushWhenNothingIsAskedOfTheAlignment) {
  const GuardedBuffer buffer = GuardedBuffer::make(4097, 1).value();
  EXPECT_DEATH(peek(buffer.data() + buffer.bytes()), "");
}

TEST(GuardedBufferDeathTest, AccessAPageInFrontFaults) {
  const GuardedBuffer buffer = GuardedBuffer::make(4096).value();
  EXPECT_DEATH(poke(buffer.data() - 1), "");
}

TEST(GuardedBufferDeathTest, AnEmptyBufferHasNoBytesToRead) {
  const GuardedBuffer buffer = GuardedBuffer::make(0).value();
  EXPECT_DEATH(peek(buffer.data()), "");
  EXPECT_DEATH(peek(buffer.data() - 1), "");
}

TEST(GuardedBuffer, AWriteBehindTheEndIsFound) {
  const GuardedBuffer buffer = GuardedBuffer::make(100).value();
  EXPECT_EQ(buffer.stray_write(), std::nullopt);
  poke(buffer.data() + 101);
  EXPECT_EQ(buffer.stray_write(), 101);
}

TEST(GuardedBuffer, AWriteInFrontIsFound) {
  const GuardedBuffer buffer = GuardedBuffer::make(100).value();
  poke(buffer.data() - 3);
  EXPECT_EQ(buffer.stray_write(), -3);
}

TEST(GuardedBuffer, FillRestoresTheMargins) {
  const GuardedBuffer buffer = GuardedBuffer::make(100).value();
  poke(buffer.data() + 101);
  buffer.fill(std::byte{0});
  EXPECT_EQ(buffer.stray_write(), std::nullopt);
}

TEST(GuardedBufferDeathTest, WritingAReadOnlyBufferFaults) {
  const GuardedBuffer buffer = GuardedBuffer::make(100).value();
  buffer.fill(std::byte{7});
  ASSERT_TRUE(buffer.make_read_only().ok());
  EXPECT_EQ(peek(buffer.data()), std::byte{7});
  EXPECT_DEATH(poke(buffer.data()), "");
}

TEST(GuardedBuffer, MoreMemoryThanThereIsIsAnError) {
  EXPECT_EQ(GuardedBuffer::make(int64_t{1} << 60).error().code, ErrorCode::Resource);
}

}  // namespace
}  // namespace espalier
