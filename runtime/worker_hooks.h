// Where a test can interfere with a measuring process.
#pragma once

#include <cstdint>
#include <span>

#include "espalier/runtime/array_view.h"

namespace espalier {

/// Called by a worker around each candidate, in the thread that does the work. `number` is the
/// candidate's number in its client's count, from 0, the same when it is tried again.
class WorkerHooks {
 public:
  virtual ~WorkerHooks() = default;
  virtual void before_compile(uint64_t /*number*/) {}
  virtual void before_run(uint64_t /*number*/) {}
  /// After the run that is checked; what it left may be changed.
  virtual void after_run(uint64_t /*number*/, std::span<const ArrayView> /*outputs*/) {}
};

}  // namespace espalier
