// Memory that a child process can map.
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/runtime/mapping.h"
#include "espalier/support/fd.h"

namespace espalier {

/// An unnamed file in memory, mapped here for writing, whose descriptor a child may inherit and
/// map.
class SharedMemory {
 public:
  SharedMemory() = default;
  /// All of it is allocated, so that running out of memory is an error here and no signal later.
  static Result<SharedMemory> make(int64_t bytes);

  std::byte* data() const { return mapping_.data(); }
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
  Mapping mapping_;
};

}  // namespace espalier
