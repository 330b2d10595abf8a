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
};

// One pool a task (workload, target, threads), in the order in which they first occur. Of several
// records of a candidate the least time counts. Errors name the file or the record.
Result<std::vector<Pool>> read_pools(const std::vector<std::string>& files);

}  // namespace espalier::bench
