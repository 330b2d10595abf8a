// Memory straight from the kernel: whole pages, unmapped when their owner goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "espalier/support/result.h"

namespace espalier {

/// Bytes of a page of memory.
int64_t page_size();

class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  /// Private zero pages, readable and writable; `bytes` is rounded up to whole pages and may be 0.
  static Result<Mapping> anonymous(int64_t bytes);
  /// The first `bytes` of an open file, shared with everybody else who maps it.
  static Result<Mapping> shared(int fd, int64_t bytes, bool writable);

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

  enum class Access { None, Read, ReadWrite };
  /// Changes what may be done with the pages that overlap [offset, offset + bytes).
  Result<void> protect(int64_t offset, int64_t bytes, Access access) const;

 private:
  Mapping(std::byte* data, int64_t bytes) : data_(data), bytes_(bytes) {}
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace espalier
