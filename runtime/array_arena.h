// Memory for arrays that are timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "espalier/runtime/mapping.h"

namespace espalier {

/// Buffers in one piece of memory, all pages touched. Each starts at a multiple of 64 bytes, and no
/// two of the first 64 start at the same offset modulo 4 KiB: a load would otherwise wait for an
/// unrelated store that agrees with it in the low 12 address bits, and equal offsets crowd into the
/// same cache sets. Starting offsets depend only on a buffer's number, so two programs whose
/// buffers are laid out by an arena are timed under equal conditions.
class ArrayArena {
 public:
  ArrayArena() = default;

  /// One buffer for each size. `first_number` is the number of the first of them, for an arena
  /// whose buffers are used beside those of another.
  static Result<ArrayArena> make(std::span<const int64_t> bytes, int first_number = 0);

  int size() const { return static_cast<int>(starts_.size()); }
  std::byte* operator[](int i) const { return memory_.data() + starts_[static_cast<size_t>(i)]; }

 private:
  Mapping memory_;
  std::vector<int64_t> starts_;
};

/// Offset from a 4 KiB boundary at which buffer number `number` of an arena starts.
int64_t arena_stagger(int number);

}  // namespace espalier
