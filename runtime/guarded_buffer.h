// Buffers in which an access outside the bounds does not go unnoticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "espalier/runtime/mapping.h"

namespace espalier {

/// Memory between two pages that fault on any access. The first byte is aligned as asked, and the
/// end is as close to the page behind as that allows: less than `alignment` bytes away. What lies
/// between the bounds and the faulting pages holds a pattern, by which a stray write is found
/// afterwards.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;

  static Result<GuardedBuffer> make(int64_t bytes, int64_t alignment = 64);

  std::byte* data() const { return memory_.data() + start_; }
  int64_t bytes() const { return bytes_; }

  /// Sets every byte to `value` and the margins to their pattern.
  void fill(std::byte value) const;
  /// The first margin byte that was written to, as an offset from data() (negative: in front of
  /// it; bytes() or more: behind the end), or nothing.
  std::optional<int64_t> stray_write() const;
  /// From now on a write faults as well.
  Result<void> make_read_only() const;

 private:
  Mapping memory_;
  int64_t inner_ = 0;  // offset and bytes of the pages that may be used
  int64_t inner_bytes_ = 0;
  int64_t start_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace espalier
