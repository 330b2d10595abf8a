// A child process that talks in frames.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "espalier/runtime/frame.h"
#include "espalier/support/fd.h"
#include "espalier/support/result.h"

namespace espalier {

/// Started with posix_spawn, never a bare fork, so it may be used beside threads. The child's
/// standard input and output are one socket; its standard error is collected; it inherits no other
/// descriptor but the one asked for. It is in a process group of its own, so that an interrupt from
/// the terminal reaches the parent alone, which then decides. Killed when its owner goes.
class WorkerProcess {
 public:
  /// The number under which the child finds the inherited descriptor.
  static constexpr int kInheritedFd = 3;

  /// Runs `program` with the arguments; `inherited_fd` of -1 is none.
  static Result<WorkerProcess> start(const std::string& program,
                                     const std::vector<std::string>& arguments, int inherited_fd);

  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&& other) noexcept;
  ~WorkerProcess();

  /// False when it is gone. Raises no SIGPIPE.
  bool send(const std::string& bytes);

  enum class Event { Frame, Timeout, Closed };
  /// Waits for the next frame, at most so long. Closed: it is gone, or sent what is no frame.
  Event wait(double seconds, Frame& frame);

  /// Resident memory that is its own (not shared), in bytes; 0 if unknown.
  int64_t private_bytes() const;

  /// Seconds of CPU time that its threads have had so far.
  double cpu_seconds() const;
  /// Whether some thread would run if it were let: it waits for a core, or somebody stopped it.
  bool is_held_up() const;

  /// Ends it at once.
  void kill();
  /// For one that wait() found closed: tells how it ended, as what follows "the worker": "was
  /// killed by SIGSEGV (Segmentation fault)", "exited with status 3", …, and the end of what it
  /// wrote to its standard error. `signal` is the signal that ended it, or 0.
  struct End {
    std::string how;
    int signal = 0;
  };
  End finish();

  pid_t pid() const { return pid_; }

 private:
  WorkerProcess() = default;
  bool receive();
  void collect_errors();
  pid_t reap(int& status, int options);

  pid_t pid_ = -1;
  UniqueFd socket_, errors_;
  FrameBuffer frames_;
  std::string error_text_;  // the last few KiB
};

}  // namespace espalier
