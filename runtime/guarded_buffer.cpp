#include "espalier/runtime/guarded_buffer.h"

#include <cstring>

#include "espalier/support/number.h"

namespace espalier {

namespace {
constexpr std::byte kPattern{0xA7};
}  // namespace

Result<GuardedBuffer> GuardedBuffer::make(int64_t bytes, int64_t alignment) {
  ESP_CHECK(bytes >= 0 && alignment > 0 && page_size() % alignment == 0);
  if (bytes > int64_t{1} << 62) {
    return make_error(ErrorCode::Resource, "cannot map ", bytes, " bytes of memory");
  }
  GuardedBuffer buffer;
  buffer.bytes_ = bytes;
  buffer.inner_ = page_size();
  buffer.inner_bytes_ = round_up(bytes, page_size());
  buffer.start_ = buffer.inner_ + buffer.inner_bytes_ - round_up(bytes, alignment);
  ESP_TRY(buffer.memory_, Mapping::anonymous(buffer.inner_bytes_ + 2 * page_size()));
  const Mapping& memory = buffer.memory_;
  ESP_TRY_VOID(memory.protect(0, page_size(), Mapping::Access::None));
  ESP_TRY_VOID(
      memory.protect(buffer.inner_ + buffer.inner_bytes_, page_size(), Mapping::Access::None));
  buffer.fill(std::byte{0});
  return buffer;
}

void GuardedBuffer::fill(std::byte value) const {
  std::byte* inner = memory_.data() + inner_;
  std::byte* end = data() + bytes_;
  memset(inner, std::to_integer<int>(kPattern), static_cast<size_t>(data() - inner));
  memset(data(), std::to_integer<int>(value), static_cast<size_t>(bytes_));
  memset(end, std::to_integer<int>(kPattern), static_cast<size_t>(inner + inner_bytes_ - end));
}

std::optional<int64_t> GuardedBuffer::stray_write() const {
  const std::byte* inner = memory_.data() + inner_;
  for (const std::byte* at = inner; at < data(); ++at) {
    if (*at != kPattern) return at - data();
  }
  for (const std::byte* at = data() + bytes_; at < inner + inner_bytes_; ++at) {
    if (*at != kPattern) return at - data();
  }
  return std::nullopt;
}

Result<void> GuardedBuffer::make_read_only() const {
  return memory_.protect(inner_, inner_bytes_, Mapping::Access::Read);
}

}  // namespace espalier
