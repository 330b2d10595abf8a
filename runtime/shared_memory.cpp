#include "espalier/runtime/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace espalier {

namespace {
Error out_of_memory(int64_t bytes) {
  return make_error(ErrorCode::Resource, "cannot allocate ", bytes, " bytes of shared memory");
}
}  // namespace

Result<SharedMemory> SharedMemory::make(int64_t bytes) {
  bytes = std::max<int64_t>(bytes, 1);
  // Allocating it would go on until the machine had none left for others either.
  if (bytes / page_size() > sysconf(_SC_PHYS_PAGES)) return out_of_memory(bytes);
  SharedMemory memory;
  const UniqueFd fd(memfd_create("espalier", MFD_CLOEXEC));
  if (!fd) return system_error(errno, "create", "shared memory");
  // Beyond the standard streams, which a child has of its own.
  memory.fd_ = UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
  if (!memory.fd_) return system_error(errno, "duplicate", "shared memory");
  int error = 0;
  do {
    error = posix_fallocate(memory.fd_.get(), 0, bytes);
  } while (error == EINTR);
  if (error != 0) return out_of_memory(bytes);
  ESP_TRY(memory.mapping_, Mapping::shared(memory.fd_.get(), bytes, true));
  return memory;
}

}  // namespace espalier
