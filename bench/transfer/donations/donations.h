// Donations: the best schedule of each program in a file of records.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "espalier/transfer/transfer.h"

namespace espalier::bench {

struct Donation {
  std::shared_ptr<const Task> task;  // on the machine that measured it
  size_t record = 0;                 // in the database

  // The operator that the workload names, "conv2d".
  std::string family() const { return task->workload.substr(0, task->workload.find(':')); }
};

class Donations {
 public:
  static Result<Donations> open(const std::string& path);

  const Database& database() const { return *database_; }
  const DonorIndex& index() const { return *index_; }
  // One a program, in the order of the workloads' names.
  const std::vector<Donation>& all() const { return all_; }

 private:
  std::unique_ptr<const Database> database_;
  std::unique_ptr<const DonorIndex> index_;
  std::vector<Donation> all_;
};

// The seeds that one record gives for a task.
Seeds seeds_of(const Donations& donations, const Donation& donation, const Task& task);

}  // namespace espalier::bench
