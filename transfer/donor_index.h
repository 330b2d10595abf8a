// DonorIndex: the records of a database, by what their programs look like.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "espalier/schedule/task.h"
#include "espalier/search/database.h"

namespace espalier {

// A program at a glance: the logarithms of the extents of its anchor's iterators, summed by what
// they do. Cheap to compare, and never far off for programs that match.
struct Outline {
  uint64_t family = 0;
  std::array<float, 24> log_extent{};
};
Outline outline_of(const ComputeDag& dag);
double distance(const Outline& a, const Outline& b);

// A program that was measured, with its best schedules.
struct Donor {
  struct Schedule {
    size_t record = 0;      // in the database
    double default_us = 0;  // of the same run; 0: not known
  };
  uint64_t dag_hash = 0;
  std::string workload;  // spec or text
  ComputeDag dag;
  Outline outline;
  // For each target and number of threads the fastest few that differ, the best first.
  std::vector<Schedule> schedules;
};

class DonorIndex {
 public:
  // The database must outlive the index and not grow meanwhile. Records whose workload no longer
  // reads, or reads as another program, are left out.
  explicit DonorIndex(const Database& database);

  const Database& database() const { return *database_; }
  const std::vector<Donor>& donors() const { return donors_; }
  size_t left_out() const { return left_out_; }

  // The nearest programs of the same family, nearest first, at most n.
  std::vector<const Donor*> nearest(const ComputeDag& dag, size_t n) const;

  // The donor's side of a record: the program on the machine that measured it. Nothing if its
  // target does not read.
  std::shared_ptr<const Task> task_of(const Donor& donor, const TuningRecord& record) const;

 private:
  const Database* database_;
  std::vector<Donor> donors_;
  std::unordered_map<std::string, Target> targets_;  // by text
  size_t left_out_ = 0;
};

}  // namespace espalier
