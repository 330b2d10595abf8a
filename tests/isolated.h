// Runs work in a child process, so that a crash or an endless loop is a result like any other.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "differential.h"

namespace espalier {

// Memory shared with the children that are forked afterwards.
class SharedBytes {
 public:
  explicit SharedBytes(size_t bytes);
  ~SharedBytes();
  SharedBytes(const SharedBytes&) = delete;
  SharedBytes& operator=(const SharedBytes&) = delete;
  void* data() const { return data_; }

 private:
  void* data_;
  size_t bytes_;
};

// Text of bounded length that a child leaves behind.
struct SharedText {
  char text[1 << 16];
  void set(std::string_view s);
  std::string get() const { return text; }
};

// Forks; the child runs `body`, which must end the process by _exit or a crash. The message of a
// failed check goes to `message`.
pid_t start_child(SharedText* message, const std::function<void()>& body);

// Tells a child that goes on for ever from one that gets little of the machine.
class ChildTimer {
 public:
  ChildTimer() = default;
  explicit ChildTimer(pid_t pid);  // counts from now
  // Whether the child has run for `seconds` of CPU time, or waited for ten times as long.
  bool is_over(double seconds) const;

 private:
  pid_t pid_ = -1;
  double cpu_seconds_ = 0;
  std::chrono::steady_clock::time_point since_;
};

// How a child ended: "" for exit status 0, "exit status 3", "signal 11 (Segmentation fault)".
std::string describe_end(int wait_status);

// compare_evaluations in a child, killed after `seconds` as ChildTimer counts them. A crash is a
// failure.
Verdict compare_isolated(const FuzzCase& c, Depth depth, double seconds = 20);

}  // namespace espalier
