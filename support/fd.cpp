#include "espalier/support/fd.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "espalier/support/hash.h"

namespace espalier {
namespace {

template <class Call>
auto retry(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

const char* reason(int error_number) {
#if defined(__GLIBC__)
  // Neither translated nor in a shared buffer, unlike strerror.
  const char* text = strerrordesc_np(error_number);
  return text != nullptr ? text : "unknown error";
#else
  return std::strerror(error_number);
#endif
}

std::string resolved(const std::string& path) {
  char* real = realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string result = real;
  std::free(real);
  return result;
}

// Opens without waiting for somebody at the other end of a named pipe, which may never come:
// without a writer it reads as empty, without a reader it cannot be opened for writing (ENXIO).
UniqueFd open_at_once(const std::string& path, int flags) {
  UniqueFd fd(retry([&] { return open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK); }));
  if (fd) {
    const int status = fcntl(fd.get(), F_GETFL);
    if (status >= 0) fcntl(fd.get(), F_SETFL, status & ~O_NONBLOCK);
  }
  return fd;
}

// A file beside the path that did not exist before. O_EXCL decides; the name need only be likely to
// be free.
UniqueFd create_beside(const std::string& path, mode_t mode, std::string& name) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t salt = hash_combine(static_cast<uint64_t>(getpid()), static_cast<uint64_t>(now.tv_nsec));
  for (int attempt = 0; attempt < 100; ++attempt) {
    salt = hash_combine(salt, reinterpret_cast<uintptr_t>(&name));
    name = path + ".tmp-" + hash_to_hex(salt);
    const int fd =
        retry([&] { return open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode); });
    if (fd >= 0 || errno != EEXIST) return UniqueFd(fd);
  }
  return UniqueFd();
}

// Whether a regular file ends in the middle of a line. Takes the file's lock, which closing
// releases: a large write by another process shows the file's size growing before it is done, and
// would look like a torn line. A file system without locks, or a writer that is stopped while it
// holds one, costs at most 100 ms and an empty line.
bool ends_torn(int fd) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) break;
    usleep(2000);
  }
  struct stat info{};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return false;
  char last = '\n';
  return retry([&] { return pread(fd, &last, 1, info.st_size - 1); }) == 1 && last != '\n';
}

}  // namespace

void UniqueFd::reset() {
  // Not retried on EINTR: Linux has released the descriptor by then.
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

Error system_error(int error_number, std::string_view action, std::string_view path) {
  ErrorCode code = ErrorCode::Io;
  if (error_number == ENOENT || error_number == ENOTDIR) code = ErrorCode::NotFound;
  if (error_number == ENOSPC || error_number == EDQUOT || error_number == EMFILE ||
      error_number == ENFILE || error_number == ENOMEM) {
    code = ErrorCode::Resource;
  }
  return make_error(code, "cannot ", action, " '", path, "': ", reason(error_number));
}

Result<std::string> read_file(const std::string& path, size_t max_bytes) {
  UniqueFd fd = open_at_once(path, O_RDONLY);
  if (!fd) return system_error(errno, "read", path);
  std::string contents;
  struct stat info{};
  if (fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode)) {
    contents.reserve(std::min(static_cast<size_t>(info.st_size), max_bytes));
  }
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = retry([&] { return read(fd.get(), buffer, sizeof buffer); });
    if (count < 0) return system_error(errno, "read", path);
    if (count == 0) return contents;
    if (static_cast<size_t>(count) > max_bytes - contents.size()) {
      return make_error(ErrorCode::Resource, "cannot read '", path, "': it holds more than ",
                        max_bytes, " bytes");
    }
    contents.append(buffer, static_cast<size_t>(count));
  }
}

Result<void> write_all(int fd, std::string_view data, std::string_view name) {
  while (!data.empty()) {
    const ssize_t count = retry([&] { return write(fd, data.data(), data.size()); });
    if (count < 0) return system_error(errno, "write", name);
    data.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

Result<void> write_file(const std::string& path, std::string_view contents) {
  const std::string real = resolved(path);
  struct stat info{};
  const bool exists = stat(real.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) return system_error(EISDIR, "write", path);
    // A device or pipe has no old contents to keep, and must not be replaced by a file.
    UniqueFd fd = open_at_once(real, O_WRONLY);
    if (!fd) return system_error(errno, "write", path);
    return write_all(fd.get(), contents, path);
  }

  std::string temporary;
  UniqueFd fd = create_beside(real, exists ? info.st_mode & 07777 : 0666, temporary);
  if (!fd) return system_error(errno, "write", path);
  Result<void> written = write_all(fd.get(), contents, path);
  if (written.ok() && retry([&] { return fsync(fd.get()); }) < 0) {
    written = system_error(errno, "write", path);
  }
  fd.reset();
  if (written.ok() && std::rename(temporary.c_str(), real.c_str()) < 0) {
    written = system_error(errno, "replace", path);
  }
  if (!written.ok()) unlink(temporary.c_str());
  return written;
}

Result<void> append_line(const std::string& path, std::string_view line) {
  if (line.find('\n') != line.npos) {
    return make_error(ErrorCode::InvalidArgument, "cannot append to '", path,
                      "': the line holds a newline itself");
  }
  UniqueFd fd(
      retry([&] { return open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666); }));
  if (!fd) {
    // What can be written but not read (a pipe, a file of another user's) has no last line to look
    // at.
    fd = UniqueFd(retry([&] { return open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC); }));
  }
  if (!fd) return system_error(errno, "append to", path);

  std::string text = ends_torn(fd.get()) ? "\n" : "";
  text.append(line).append("\n");
  const ssize_t count = retry([&] { return write(fd.get(), text.data(), text.size()); });
  if (count < 0) return system_error(errno, "append to", path);
  if (static_cast<size_t>(count) < text.size()) {
    // A second call could land behind another writer's line, so the torn line stays, as after a
    // kill.
    return make_error(ErrorCode::Resource, "cannot append to '", path, "': only ", count, " of ",
                      text.size(), " bytes were written; the disk is full or a limit was reached");
  }
  return {};
}

}  // namespace espalier
