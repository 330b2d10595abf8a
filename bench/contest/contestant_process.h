// The side of the conductor: contestants as child processes that stand still unless measured.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "espalier/support/fd.h"
#include "espalier/support/result.h"

namespace espalier::bench {

/// Environment variables that are set for a child.
using Environment = std::vector<std::pair<std::string, std::string>>;

class ContestantProcess {
 public:
  /// Starts a program and waits until it is ready. Errors: Unsupported if it cannot do the
  /// workload.
  static Result<ContestantProcess> start(const std::string& program,
                                         const std::vector<std::string>& arguments,
                                         const Environment& environment);
  ContestantProcess(ContestantProcess&& other) noexcept;
  ContestantProcess& operator=(ContestantProcess&&) = delete;
  ~ContestantProcess();

  /// Microseconds a call, over one batch. The process runs during this call only: otherwise it is
  /// stopped, threads that wait in a loop included.
  Result<double> batch();
  const std::string& detail() const { return detail_; }

 private:
  ContestantProcess() = default;
  Result<std::string> read_line();

  pid_t pid_ = -1;
  UniqueFd to_, from_;
  std::string program_, detail_;
};

}  // namespace espalier::bench
