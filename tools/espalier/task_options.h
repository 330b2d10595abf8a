// --workload, --target and --threads: what is to be done, and for which machine.
#pragma once

#include <optional>
#include <string>

#include "command_line/options.h"
#include "espalier/schedule/task.h"

namespace espalier::cli {

class TaskOptions {
 public:
  void declare(Options& options);
  /// Errors of the three options are wrong usage; those of a file are not.
  Result<Task> make_task() const;
  /// --target alone, and --threads.
  Result<Target> make_target() const;
  int threads() const;

  /// What people call the task: the workload as it was given.
  const std::string& workload() const { return workload_; }

 private:
  std::string workload_, target_ = "host";
  std::optional<int64_t> threads_;
};

/// The DAG of what follows --workload: a spec, or a file with its text. Never waits for a device or
/// pipe. Errors of a file's content are not wrong usage.
Result<ComputeDag> dag_of_option(const std::string& workload);

/// The threads that --threads stands for when it is left out.
int default_threads();

/// The task of a record: its workload is a spec or the text of a DAG.
Result<Task> task_of_workload(const std::string& workload, const Target& target, int threads);

/// Fails if the arrays of the task and `extra_per_output` more of each output's size do not fit
/// into the memory that is left, so that nothing is allocated in vain.
Result<void> check_memory(const ComputeDag& dag, double extra_per_output);

}  // namespace espalier::cli
