// MeasurerPool: a measurer for each of many tasks, of which only a few are alive at once.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "espalier/runtime/measure.h"
#include "espalier/schedule/task.h"

namespace espalier {

// Makes the measurer of a task.
using MeasurerFactory = std::function<Result<std::unique_ptr<Measurer>>(const Task&)>;

class MeasurerPool {
 public:
  // At most `alive` measurers at once: making another ends the one that was idle the longest.
  MeasurerPool(MeasurerFactory make, size_t alive);
  ~MeasurerPool();

  // For the task, which must outlive the pool. It is made when it is used, and again when it was
  // ended meanwhile; where it cannot be made, candidates fail with the reason. Lives as long as the
  // pool.
  Measurer& add(const Task& task);

 private:
  class Member;
  Result<Measurer*> acquire(Member* member);

  MeasurerFactory make_;
  size_t alive_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<Member*> recent_;  // those alive, longest idle first
};

}  // namespace espalier
