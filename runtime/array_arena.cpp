#include "espalier/runtime/array_arena.h"

#include "espalier/support/number.h"

namespace espalier {

namespace {
constexpr int64_t kAliasPeriod = 4096;  // bytes; what the hardware compares first is 12 bits
constexpr int64_t kLine = 64;
}  // namespace

int64_t arena_stagger(int number) {
  // The bits of the number reversed: 0, 1/2, 1/4, 3/4, 1/8, ... of the period, so that any few
  // buffers in a row are far apart.
  int64_t reversed = 0;
  for (int bit = 0; bit < 6; ++bit) reversed = reversed << 1 | (number >> bit & 1);
  return reversed * kLine;
}

Result<ArrayArena> ArrayArena::make(std::span<const int64_t> bytes, int first_number) {
  ArrayArena arena;
  int64_t end = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int64_t start =
        round_up(end, kAliasPeriod) + arena_stagger(first_number + static_cast<int>(i));
    arena.starts_.push_back(start);
    const auto next = checked_add(start, bytes[i]);
    if (!next || bytes[i] < 0 || *next > int64_t{1} << 62) {
      return make_error(ErrorCode::Resource, "buffers of too many bytes");
    }
    end = *next;
  }
  // At least a byte, so that a buffer without elements has an address too.
  ESP_TRY(arena.memory_, Mapping::anonymous(end + 1));
  for (int64_t at = 0; at < arena.memory_.bytes(); at += page_size()) {
    arena.memory_.data()[at] = std::byte{0};  // a write: reading would map the shared zero page
  }
  return arena;
}

}  // namespace espalier
