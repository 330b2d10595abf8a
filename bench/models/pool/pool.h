// A pool: measured candidates of one task, read from files of tuning records.
#pragma once

#include <string>
#include <vector>

#include "espalier/cost_model/cost_model.h"
#include "espalier/schedule/task.h"

namespace espalier::bench {

struct Pool {
  Task task;
  std::vector<Candidate> candidates;  // distinct, in the order of the records
  std::vector<double> times;          // microseconds; infinite for those that failed

  // The operator that the workload names, "conv2d".
  std::string family() const { return task.workload.substr(0, task.workload.find(':')); }
};

// One pool a task (workload, target, threads), in the order in which they first occur. The least of
// all repeats of all records of a candidate counts: whatever disturbs a run makes it longer. Errors
// name the file or the record.
Result<std::vector<Pool>> read_pools(const std::vector<std::string>& files);

}  // namespace espalier::bench
