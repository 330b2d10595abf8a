// Contestants as child processes that stand still unless measured.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "espalier/support/fd.h"
#include "espalier/support/json.h"
#include "espalier/support/result.h"

namespace espalier::bench {

/// The environment of a child: that of this process without variables whose names start so, and
/// with others set.
struct Environment {
  std::vector<std::string> without;
  std::vector<std::pair<std::string, std::string>> with;
};

class ContestantProcess {
 public:
  /// Starts a program and waits until it is ready; `interrupt` is looked at while waiting, then
  /// and in round(). Errors: NotFound if there is no such program, Unsupported with the reason
  /// that the contestant gave, Internal if it broke down, Interrupted.
  static Result<ContestantProcess> start(const std::string& program,
                                         const std::vector<std::string>& arguments,
                                         const Environment& environment,
                                         const std::atomic<bool>& interrupt);
  ContestantProcess(ContestantProcess&& other) noexcept;
  ContestantProcess& operator=(ContestantProcess&&) = delete;
  /// Ends the process and what it started.
  ~ContestantProcess();

  /// Google Benchmark's JSON of one round. The process runs during this call only: otherwise it is
  /// stopped, threads that wait in a loop included.
  Result<Json> round();
  /// Which implementation it is.
  const std::string& detail() const { return detail_; }

 private:
  explicit ContestantProcess(const std::atomic<bool>& interrupt) : interrupt_(&interrupt) {}
  Result<Json> read_answer();
  Error breakdown();

  const std::atomic<bool>* interrupt_;
  pid_t pid_ = -1;
  UniqueFd to_, from_;
  std::string unread_, detail_;
};

}  // namespace espalier::bench
