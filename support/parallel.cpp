#include "espalier/support/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace espalier::detail {
namespace {

struct Shared {
  size_t n;
  void* context;
  void (*body)(void*, size_t, int);
  std::atomic<size_t> next{0};

  void work(int slot) {
    for (size_t i = next.fetch_add(1); i < n; i = next.fetch_add(1)) body(context, i, slot);
  }
};

struct Worker {
  Shared* shared;
  int slot;
  pthread_t thread;
};

}  // namespace

void parallel_for(int threads, size_t n, void* context, void (*body)(void*, size_t, int)) {
  if (threads <= 1 || n <= 1) {
    for (size_t i = 0; i < n; ++i) body(context, i, 0);
    return;
  }
  Shared shared{n, context, body};
  const size_t others = std::min(static_cast<size_t>(threads), n) - 1;
  std::vector<Worker> workers(others);
  size_t started = 0;
  // pthreads directly: std::thread reports a refused thread by an exception, which the library does
  // without.
  for (; started < others; ++started) {
    Worker& worker = workers[started];
    worker.shared = &shared;
    worker.slot = static_cast<int>(started) + 1;
    auto run = [](void* argument) -> void* {
      auto* self = static_cast<Worker*>(argument);
      self->shared->work(self->slot);
      return nullptr;
    };
    if (pthread_create(&worker.thread, nullptr, run, &worker) != 0) break;
  }
  shared.work(0);
  for (size_t i = 0; i < started; ++i) pthread_join(workers[i].thread, nullptr);
}

}  // namespace espalier::detail
