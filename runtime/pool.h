// The default thread pool, owned.
#pragma once

#include <utility>

#include "espalier/runtime/rt/espalier_rt.h"
#include "espalier/support/result.h"

namespace espalier {

/// A pool of threads for kernels' parallel loops (see rt/espalier_rt.h). Several kernels, in
/// several threads, may use one pool: a loop that finds it busy runs in its own thread alone.
class Pool {
 public:
  /// A pool in which `threads` take part, the calling one included. Fails if `threads` is below 1
  /// or the system refuses threads.
  static Result<Pool> make(int threads);

  Pool(Pool&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)) {}
  Pool& operator=(Pool&& other) noexcept {
    std::swap(pool_, other.pool_);
    return *this;
  }
  ~Pool() { espalier_pool_destroy(pool_); }

  int threads() const { return espalier_pool_slots(pool_); }
  /// What a kernel's call takes; `threads` of the pool's take part (0: all).
  espalier_context context(int threads = 0) const;

 private:
  explicit Pool(espalier_pool* pool) : pool_(pool) {}
  espalier_pool* pool_;
};

}  // namespace espalier
