#include "espalier/runtime/frame.h"

#include <unistd.h>

#include <bit>
#include <cerrno>

#include "espalier/support/fd.h"

namespace espalier {
namespace {

constexpr size_t kHeaderBytes = 5;

uint32_t payload_bytes(std::string_view header) {
  uint32_t length = 0;
  for (size_t i = 4; i-- > 0;) length = length << 8 | static_cast<unsigned char>(header[i]);
  return length;
}

Error too_long(uint32_t length) {
  return make_error(ErrorCode::Parse, "a frame of ", length, " bytes; at most ", kMaxFrameBytes,
                    " are allowed, so the other side does not speak this protocol");
}

// Bytes read before the end of the stream: all of `size` unless it ended.
Result<size_t> read_fully(int fd, char* to, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = read(fd, to + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == ECONNRESET) return done;
    if (n < 0) return system_error(errno, "read", "pipe");
    if (n == 0) return done;
    done += static_cast<size_t>(n);
  }
  return done;
}

}  // namespace

std::string encode_frame(uint8_t kind, std::string_view payload) {
  ESP_CHECK(payload.size() <= kMaxFrameBytes);
  std::string bytes;
  bytes.reserve(kHeaderBytes + payload.size());
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(payload.size() >> (8 * i) & 0xff);
  bytes += static_cast<char>(kind);
  bytes += payload;
  return bytes;
}

Result<std::optional<Frame>> read_frame(int fd) {
  char header[kHeaderBytes];
  ESP_TRY(const size_t got, read_fully(fd, header, kHeaderBytes));
  if (got == 0) return std::optional<Frame>();
  if (got < kHeaderBytes) return make_error(ErrorCode::Io, "the pipe was closed within a frame");
  const uint32_t length = payload_bytes({header, kHeaderBytes});
  if (length > kMaxFrameBytes) return too_long(length);
  Frame frame{static_cast<uint8_t>(header[4]), std::string(length, '\0')};
  ESP_TRY(const size_t rest, read_fully(fd, frame.payload.data(), length));
  if (rest < length) return make_error(ErrorCode::Io, "the pipe was closed within a frame");
  return std::optional<Frame>(std::move(frame));
}

Result<std::optional<Frame>> FrameBuffer::next() {
  if (bytes_.size() < kHeaderBytes) return std::optional<Frame>();
  const uint32_t length = payload_bytes(bytes_);
  if (length > kMaxFrameBytes) return too_long(length);
  if (bytes_.size() - kHeaderBytes < length) return std::optional<Frame>();
  Frame frame{static_cast<uint8_t>(bytes_[4]), bytes_.substr(kHeaderBytes, length)};
  bytes_.erase(0, kHeaderBytes + length);
  return std::optional<Frame>(std::move(frame));
}

Encoder& Encoder::u64(uint64_t value) {
  for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
  return *this;
}

Encoder& Encoder::f64(double value) { return u64(std::bit_cast<uint64_t>(value)); }

Encoder& Encoder::string(std::string_view value) {
  u64(value.size());
  bytes_ += value;
  return *this;
}

Encoder& Encoder::f64s(const std::vector<double>& values) {
  u64(values.size());
  for (const double value : values) f64(value);
  return *this;
}

uint64_t Decoder::u64() {
  if (bytes_.size() < 8) {
    failed_ = true;
    bytes_ = {};
    return 0;
  }
  uint64_t value = 0;
  for (size_t i = 8; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes_[i]);
  bytes_.remove_prefix(8);
  return value;
}

double Decoder::f64() { return std::bit_cast<double>(u64()); }

std::string Decoder::string() {
  const uint64_t size = u64();
  if (size > bytes_.size()) {
    failed_ = true;
    bytes_ = {};
    return {};
  }
  std::string value(bytes_.substr(0, size));
  bytes_.remove_prefix(size);
  return value;
}

size_t Decoder::count() {
  const uint64_t n = u64();
  if (n > bytes_.size() / 8) {
    failed_ = true;
    bytes_ = {};
    return 0;
  }
  return n;
}

std::vector<double> Decoder::f64s() {
  std::vector<double> values(count());
  for (double& value : values) value = f64();
  return values;
}

Result<void> Decoder::finish() const {
  if (failed_) return make_error(ErrorCode::Parse, "a message is shorter than what it should hold");
  if (!bytes_.empty()) return make_error(ErrorCode::Parse, "a message is longer than it should be");
  return {};
}

}  // namespace espalier
