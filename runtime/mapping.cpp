#include "espalier/runtime/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "espalier/support/number.h"

namespace espalier {
namespace {

Result<std::byte*> map(int64_t bytes, int protection, int flags, int fd) {
  void* at = mmap(nullptr, static_cast<size_t>(bytes), protection, flags, fd, 0);
  if (at == MAP_FAILED) {
    return make_error(ErrorCode::Resource, "cannot map ", bytes,
                      " bytes of memory: ", strerror(errno));
  }
  return static_cast<std::byte*>(at);
}

}  // namespace

int64_t page_size() { return sysconf(_SC_PAGESIZE); }

Mapping::~Mapping() {
  if (bytes_ > 0) munmap(data_, static_cast<size_t>(bytes_));
}

Result<Mapping> Mapping::anonymous(int64_t bytes) {
  if (bytes < 0 || bytes > std::numeric_limits<int64_t>::max() - page_size()) {
    return make_error(ErrorCode::Resource, "cannot map ", bytes, " bytes of memory");
  }
  if (bytes == 0) return Mapping();
  bytes = round_up(bytes, page_size());
  ESP_TRY(std::byte * data, map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1));
  return Mapping(data, bytes);
}

Result<Mapping> Mapping::shared(int fd, int64_t bytes, bool writable) {
  if (bytes == 0) return Mapping();
  ESP_TRY(std::byte * data, map(bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd));
  return Mapping(data, bytes);
}

Result<void> Mapping::protect(int64_t offset, int64_t bytes, Access access) const {
  ESP_CHECK(offset >= 0 && bytes >= 0 && offset <= bytes_ && bytes <= bytes_ - offset);
  if (bytes == 0) return {};
  const int64_t start = offset / page_size() * page_size();
  const int protection = access == Access::None   ? PROT_NONE
                         : access == Access::Read ? PROT_READ
                                                  : PROT_READ | PROT_WRITE;
  if (mprotect(data_ + start, static_cast<size_t>(offset + bytes - start), protection) != 0) {
    return make_error(ErrorCode::Resource, "cannot protect ", bytes,
                      " bytes of memory: ", strerror(errno));
  }
  return {};
}

}  // namespace espalier
