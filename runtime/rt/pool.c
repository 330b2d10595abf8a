// The default thread pool.
//
// A loop is published as a job: one word `state` holds its number, whether it is open to join, and
// how many threads have joined. A thread joins by adding itself while the job is open; the caller
// works as slot 0, closes the job when nothing is left to take, and waits only for those who
// joined, so a thread that is still asleep costs nothing. Iterations are first divided evenly among
// the slots; who has finished its share takes chunks of the others'.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "espalier/runtime/rt/espalier_rt.h"

enum { kLine = 64, kSpins = 4000 };

// state = number << 32 | slots << 16 | open << 15 | joined. Threads of slots beyond the job's do
// not join it.
enum { kMaxSlots = 1 << 14, kSlotsShift = 16, kSlotsMask = 0xffff };
static const uint64_t kOpen = 1ull << 15;
static const uint64_t kJoinedMask = (1ull << 15) - 1;

typedef struct {
  _Alignas(kLine) _Atomic int64_t next;
  int64_t end;
} share;

typedef struct {
  espalier_pool* pool;
  int32_t slot;
  pthread_t thread;
} worker;

struct espalier_pool {
  int32_t slots;
  worker* workers;  // of slots 1 .. slots-1
  share* shares;    // one a slot

  // The job; written by its caller while nobody has joined.
  espalier_body fn;
  void* data;
  int64_t chunk;
  int32_t job_slots;

  _Alignas(kLine) _Atomic uint64_t state;
  _Alignas(kLine) _Atomic int32_t sleepers;
  _Atomic bool caller_sleeps;
  _Atomic bool stop;
  _Atomic bool busy;
  pthread_mutex_t mutex;
  pthread_cond_t wake;  // for threads: a job is open, or stop
  pthread_cond_t done;  // for the caller: the last joined thread has left
};

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

static void work(espalier_pool* pool, int32_t slot) {
  for (int32_t k = 0; k < pool->job_slots; k++) {
    share* s = &pool->shares[(slot + k) % pool->job_slots];
    for (;;) {
      // Looking first keeps the counter from growing without bound.
      if (atomic_load_explicit(&s->next, memory_order_relaxed) >= s->end) break;
      const int64_t from = atomic_fetch_add_explicit(&s->next, pool->chunk, memory_order_relaxed);
      if (from >= s->end) break;
      const int64_t to = s->end - from < pool->chunk ? s->end : from + pool->chunk;
      for (int64_t i = from; i < to; i++) pool->fn(pool->data, i, slot);
    }
  }
}

// Joins the job in `state` if it is open to `slot` and not number `last`. Returns its number, or
// `last`.
static uint32_t try_join(espalier_pool* pool, int32_t slot, uint32_t last) {
  uint64_t s = atomic_load(&pool->state);
  while ((s & kOpen) && (uint32_t)(s >> 32) != last &&
         slot < (int32_t)(s >> kSlotsShift & kSlotsMask)) {
    if (atomic_compare_exchange_weak(&pool->state, &s, s + 1)) return (uint32_t)(s >> 32);
  }
  return last;
}

static void leave(espalier_pool* pool) {
  const uint64_t before = atomic_fetch_sub(&pool->state, 1);
  if ((before & kOpen) || (before & kJoinedMask) != 1) return;
  if (!atomic_load(&pool->caller_sleeps)) return;
  pthread_mutex_lock(&pool->mutex);
  pthread_cond_signal(&pool->done);
  pthread_mutex_unlock(&pool->mutex);
}

// Waits for a job other than `last` and joins it. Returns false when the pool stops.
static bool wait_and_join(espalier_pool* pool, int32_t slot, uint32_t* last) {
  for (int i = 0; i < kSpins; i++) {
    const uint32_t joined = try_join(pool, slot, *last);
    if (joined != *last) {
      *last = joined;
      return true;
    }
    if (atomic_load_explicit(&pool->stop, memory_order_relaxed)) return false;
    relax();
  }
  bool joined_one = false;
  pthread_mutex_lock(&pool->mutex);
  atomic_fetch_add(&pool->sleepers, 1);
  while (!atomic_load(&pool->stop)) {
    const uint32_t joined = try_join(pool, slot, *last);
    if (joined != *last) {
      *last = joined;
      joined_one = true;
      break;
    }
    pthread_cond_wait(&pool->wake, &pool->mutex);
  }
  atomic_fetch_sub(&pool->sleepers, 1);
  pthread_mutex_unlock(&pool->mutex);
  return joined_one;
}

static void* run_worker(void* arg) {
  worker* w = arg;
  uint32_t last = 0;
  while (wait_and_join(w->pool, w->slot, &last)) {
    work(w->pool, w->slot);
    leave(w->pool);
  }
  return NULL;
}

static void wake_sleepers(espalier_pool* pool) {
  if (atomic_load(&pool->sleepers) == 0) return;
  pthread_mutex_lock(&pool->mutex);
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
}

static void wait_for_joined(espalier_pool* pool) {
  for (int i = 0; i < kSpins; i++) {
    if ((atomic_load(&pool->state) & kJoinedMask) == 0) return;
    relax();
  }
  pthread_mutex_lock(&pool->mutex);
  atomic_store(&pool->caller_sleeps, true);
  while ((atomic_load(&pool->state) & kJoinedMask) != 0) {
    pthread_cond_wait(&pool->done, &pool->mutex);
  }
  atomic_store(&pool->caller_sleeps, false);
  pthread_mutex_unlock(&pool->mutex);
}

static int32_t pool_parallel_for(espalier_context* ctx, int64_t begin, int64_t end, int64_t grain,
                                 espalier_body fn, void* data) {
  espalier_pool* pool = ctx->pool;
  if (begin >= end) return ESPALIER_OK;
  const int64_t total = end - begin;
  if (grain < 1) grain = 1;
  // A loop inside a loop, or a loop of another thread, finds the pool busy.
  if (total <= grain || atomic_exchange(&pool->busy, true)) {
    for (int64_t i = begin; i < end; i++) fn(data, i, 0);
    return ESPALIER_OK;
  }
  const int64_t slots = ctx->slots < pool->slots ? ctx->slots : pool->slots;
  int64_t from = begin;
  for (int64_t s = 0; s < slots; s++) {
    const int64_t to = from + total / slots + (s < total % slots);
    atomic_store_explicit(&pool->shares[s].next, from, memory_order_relaxed);
    pool->shares[s].end = to;
    from = to;
  }
  const int64_t eighth = total / slots / 8;
  pool->chunk = eighth > grain ? eighth : grain;
  pool->fn = fn;
  pool->data = data;
  pool->job_slots = (int32_t)slots;

  const uint32_t previous = (uint32_t)(atomic_load(&pool->state) >> 32);
  const uint32_t number = previous == UINT32_MAX ? 1 : previous + 1;  // 0 stands for none
  atomic_store(&pool->state, (uint64_t)number << 32 | (uint64_t)slots << kSlotsShift | kOpen);
  wake_sleepers(pool);
  work(pool, 0);
  atomic_fetch_and(&pool->state, ~kOpen);
  wait_for_joined(pool);
  atomic_store(&pool->busy, false);
  return ESPALIER_OK;
}

espalier_pool* espalier_pool_create(int32_t slots) {
  if (slots < 1) return NULL;
  if (slots > kMaxSlots) slots = kMaxSlots;
  espalier_pool* pool = aligned_alloc(kLine, (sizeof *pool + kLine - 1) / kLine * kLine);
  worker* workers = calloc((size_t)slots, sizeof *workers);
  share* shares = aligned_alloc(kLine, (size_t)slots * sizeof *shares);
  if (!pool || !workers || !shares) {
    free(pool);
    free(workers);
    free(shares);
    return NULL;
  }
  pool->slots = slots;
  pool->workers = workers;
  pool->shares = shares;
  atomic_init(&pool->state, 0);
  atomic_init(&pool->sleepers, 0);
  atomic_init(&pool->caller_sleeps, false);
  atomic_init(&pool->stop, false);
  atomic_init(&pool->busy, false);
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->wake, NULL);
  pthread_cond_init(&pool->done, NULL);
  int32_t started = 1;
  for (; started < slots; started++) {
    worker* w = &workers[started];
    w->pool = pool;
    w->slot = started;
    if (pthread_create(&w->thread, NULL, run_worker, w) != 0) break;
  }
  pool->slots = started;
  return pool;
}

int32_t espalier_pool_slots(const espalier_pool* pool) { return pool ? pool->slots : 1; }

void espalier_pool_destroy(espalier_pool* pool) {
  if (!pool) return;
  atomic_store(&pool->stop, true);
  pthread_mutex_lock(&pool->mutex);
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
  for (int32_t s = 1; s < pool->slots; s++) pthread_join(pool->workers[s].thread, NULL);
  pthread_cond_destroy(&pool->done);
  pthread_cond_destroy(&pool->wake);
  pthread_mutex_destroy(&pool->mutex);
  free(pool->shares);
  free(pool->workers);
  free(pool);
}

espalier_context espalier_pool_context(espalier_pool* pool) {
  espalier_context ctx = {pool ? pool_parallel_for : NULL, pool, espalier_pool_slots(pool)};
  return ctx;
}
