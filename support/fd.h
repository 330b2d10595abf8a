#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "espalier/support/result.h"

namespace espalier {

// Small helpers over POSIX files. Errors name the path and the system's reason, in English whatever
// the locale.

/// Owns a file descriptor; -1 is none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

/// An error for a failed system call: "cannot <action> '<path>': <reason>". NotFound for a missing
/// file or folder, Resource for a full disk or exhausted descriptors, else Io.
Error system_error(int error_number, std::string_view action, std::string_view path);

/// The whole contents. Refuses folders, and files of more than max_bytes (Resource), so that an
/// endless device is an error and no hang.
Result<std::string> read_file(const std::string& path, size_t max_bytes = size_t{1} << 30);

/// Writes a file so that readers see the old contents or the new, never a part: to a new file
/// beside it, synchronised, then renamed. A symbolic link is followed.
Result<void> write_file(const std::string& path, std::string_view contents);

/// Appends one line (given without its newline, and holding none) by one write call under the
/// file's lock, so that several processes may append to one file. If the file ends in the middle of
/// a line, as after a kill, the new line starts on its own. Where the file system has no locks an
/// empty line may slip in, which readers skip. Creates the file, but not its folder.
Result<void> append_line(const std::string& path, std::string_view line);

/// Writes everything to a descriptor, however many calls that takes. `name` stands in for the path
/// in errors.
Result<void> write_all(int fd, std::string_view data, std::string_view name);

}  // namespace espalier
