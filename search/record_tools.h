// What people do with record files: merge, prune, summarise, verify.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "espalier/schedule/task.h"
#include "espalier/search/database.h"

namespace espalier {

struct RewriteReport {
  size_t read = 0;  // records in the inputs
  size_t kept = 0;  // records written
  std::vector<std::string> warnings;
};

// Writes the records of all inputs, equal ones once, in order. `out` may be among the inputs; if it
// exists and is not, that is an error, since its records would be lost. It is written aside, then
// renamed.
Result<RewriteReport> merge_records(const std::string& out, const std::vector<std::string>& inputs);

// Keeps the `keep` fastest verified records of each workload, target and thread count, and the
// fastest default schedule of each. Written aside, then renamed; a record that another process
// appends meanwhile may be lost.
Result<RewriteReport> prune_records(const std::string& path, size_t keep = 1);

// The records of one workload, target and thread count.
struct TaskSummary {
  const TuningRecord* any = nullptr;      // for workload, target and threads
  const TuningRecord* best = nullptr;     // fastest verified one, null: none
  const TuningRecord* initial = nullptr;  // fastest verified default schedule, null: none
  size_t records = 0;
  size_t failed = 0;
};
// In the order in which they first occur. Points into the database.
std::vector<TaskSummary> summarize(const Database& database);

// Checks each record: its workload makes a DAG of the hash that it states, its trace parses and
// replays there. `task_of` makes the task of a record. One message a fault, with file and line.
std::vector<std::string> verify_records(
    const Database& database, const std::function<Result<Task>(const TuningRecord&)>& task_of);

}  // namespace espalier
