// The run-time part of generated code: a C ABI with nothing beneath it but threads.
//
// Generated code calls espalier_parallel_for for its parallel loops (and espalier_fmod for
// floating-point remainders). The host says in an espalier_context how such loops run: with the
// pool below, with its own pool through the `parallel_for` hook, or, when the context is null or
// has one slot, one iteration after the other in the calling thread.
#ifndef ESPALIER_RT_H_
#define ESPALIER_RT_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The body of a parallel loop: iteration `i`, run by the thread that holds `slot`. Two iterations
// that run at the same time have different slots, so scratch memory can be kept a slot.
typedef void (*espalier_body)(void* data, int64_t i, int32_t slot);

typedef struct espalier_context espalier_context;
struct espalier_context {
  // Calls fn(data, i, slot) once for every i in [begin, end), in any order, with 0 <= slot < slots,
  // and returns when all have returned. `grain` is the least number of iterations worth handing to
  // a thread. Returns 0, or an error that the kernel then returns. Null: serial.
  int32_t (*parallel_for)(espalier_context* ctx, int64_t begin, int64_t end, int64_t grain,
                          espalier_body fn, void* data);
  void* pool;     // for the hook's own use
  int32_t slots;  // at most the number of slots that the kernel was compiled for
};

// What a generated entry returns: 0, one of these, or what the hook returned.
enum {
  ESPALIER_OK = 0,
  ESPALIER_ERROR_SLOTS = 1,  // the context has more slots than the kernel was compiled for
};

// Runs a parallel loop through the context's hook; serially in slot 0 when `ctx` is null, has no
// hook or at most one slot.
int32_t espalier_parallel_for(espalier_context* ctx, int64_t begin, int64_t end, int64_t grain,
                              espalier_body fn, void* data);

// A pool of `slots - 1` threads; the caller of a loop takes part in it as slot 0. Idle threads spin
// for some ten microseconds, then sleep.
typedef struct espalier_pool espalier_pool;

// Null when `slots` < 1 or there is no memory. If the system refuses threads the pool has fewer
// slots (see espalier_pool_slots).
espalier_pool* espalier_pool_create(int32_t slots);
int32_t espalier_pool_slots(const espalier_pool* pool);
// No loop may be running. Null is allowed.
void espalier_pool_destroy(espalier_pool* pool);
// A context that runs loops in the pool; null gives a serial one. Lowering `slots` in it lets fewer
// threads take part. Several contexts, in several
// threads, may share a pool: a loop that finds the pool busy runs serially in its own thread.
espalier_context espalier_pool_context(espalier_pool* pool);

// C's fmod: the exact remainder of x/y with the sign of x; NaN for infinite x or zero y.
double espalier_fmod(double x, double y);

#ifdef __cplusplus
}
#endif

#endif  // ESPALIER_RT_H_
