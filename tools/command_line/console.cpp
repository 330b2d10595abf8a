#include "command_line/console.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "espalier/support/fd.h"

namespace espalier::cli {
namespace {

// Zero, or the system's reason.
int write_fully(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// Messages quote what was given, which a terminal must not obey, and which may have no end.
std::string for_people(std::string_view text) {
  constexpr size_t kLongestWord = 400;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string shown;
  size_t word = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool starts_character = (byte & 0xc0) != 0x80;
    if (c == ' ' || c == '\n') {
      word = 0;
    } else if (starts_character && ++word == kLongestWord) {
      shown += "...";
    }
    if (word >= kLongestWord) continue;
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
      shown += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      shown += c;
    }
  }
  return shown;
}

}  // namespace

void prepare_standard_streams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number, which is this one: those below are open.
    if (open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) != fd) _exit(1);
  }
  // A write that fails is an error of that write: no reader, or a file past the limit (ulimit -f).
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

void write_to_stderr(std::string_view text) { write_fully(STDERR_FILENO, text); }

void Console::print(std::string_view text) {
  if (output_error_) return;
  const int error = write_fully(STDOUT_FILENO, text);
  if (error != 0 && error != EPIPE) {
    output_error_ = system_error(error, "write to", "standard output");
  }
}

void Console::note(std::string_view text) {
  if (!quiet) write_to_stderr(std::string(text) + "\n");
}

void Console::warn(std::string_view text) {
  write_to_stderr("warning: " + std::string(text) + "\n");
}

void Console::error(const Error& error) {
  write_to_stderr("espalier: " + for_people(to_string(error)) + "\n");
}

}  // namespace espalier::cli
