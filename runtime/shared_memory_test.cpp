#include "espalier/runtime/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(SharedMemory, IsSeenThroughAnotherMapping) {
  const SharedMemory memory = SharedMemory::make(10000).value();
  const Mapping other = Mapping::shared(memory.fd(), 10000, false).value();
  memory.data()[9999] = std::byte{42};
  EXPECT_EQ(other.data()[9999], std::byte{42});
}

TEST(SharedMemory, IsNotLeftOpenInChildren) {
  const SharedMemory memory = SharedMemory::make(1).value();
  EXPECT_NE(fcntl(memory.fd(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(SharedMemory, NoBytesAreFine) { EXPECT_TRUE(SharedMemory::make(0).ok()); }

TEST(SharedMemory, MoreThanThereIsIsAnError) {
  EXPECT_EQ(SharedMemory::make(int64_t{1} << 50).error().code, ErrorCode::Resource);
}

}  // namespace
}  // namespace espalier
