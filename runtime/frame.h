// Frames over a pipe or socket, and the encoding of what is in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/support/result.h"

namespace espalier {

/// A frame: its payload's length in 4 bytes, its kind in one, then the payload. Numbers are
/// little-endian.
struct Frame {
  uint8_t kind = 0;
  std::string payload;
};
inline constexpr uint32_t kMaxFrameBytes = 1u << 30;

/// The frame as it goes over the wire.
std::string encode_frame(uint8_t kind, std::string_view payload);

/// Reads one frame from a blocking descriptor. Nothing when the other side closed it between two
/// frames; an Error when it did within one, or sent what is no frame.
Result<std::optional<Frame>> read_frame(int fd);

/// Collects bytes as they come and gives out whole frames.
class FrameBuffer {
 public:
  void append(std::string_view bytes) { bytes_.append(bytes); }
  /// The next whole frame, if it has arrived. A Parse error for a length that no frame has.
  Result<std::optional<Frame>> next();

 private:
  std::string bytes_;
};

/// Writes values one after the other.
class Encoder {
 public:
  Encoder& u64(uint64_t value);
  Encoder& i64(int64_t value) { return u64(static_cast<uint64_t>(value)); }
  Encoder& f64(double value);  // all bits, NaN payloads included
  Encoder& boolean(bool value) { return u64(value ? 1 : 0); }
  Encoder& string(std::string_view value);
  Encoder& f64s(const std::vector<double>& values);
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads them back. What is missing or malformed reads as zero or empty, and finish() then fails.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}
  uint64_t u64();
  int64_t i64() { return static_cast<int64_t>(u64()); }
  double f64();
  bool boolean() { return u64() != 0; }
  std::string string();
  std::vector<double> f64s();
  /// A number of items that follow, each of at least 8 bytes; bounded by what is left.
  size_t count();
  /// Whether everything was there and nothing is left over.
  Result<void> finish() const;

 private:
  std::string_view bytes_;
  bool failed_ = false;
};

}  // namespace espalier
