// StageCost: where the time of a stage goes, in closed form.
//
// The straight code of a stage (its vectorized loop and the unrolled loops inside all others) is
// one body. Its cycles are those of the port that binds, or of the chain of dependent operations.
// Traffic between caches follows from what each loop touches: a loop whose body fits in a cache
// brings in each line once. (Pruner's symbols restated for CPUs: Qiao et al., "Pruner", ASPLOS
// 2025, section 4; reuse by working sets as in MOpt, ASPLOS 2021.)
#pragma once

#include <array>

#include "espalier/cost_model/operation_count.h"
#include "espalier/cost_model/streams.h"
#include "espalier/support/device_model.h"

namespace espalier {

// Boundaries that data cross: L1 from L2, L2 from L3, L3 from memory.
inline constexpr size_t kCacheLevels = 3;

struct StageCost {
  StageId stage = -1;
  // The body.
  Quantity lanes_used = 1;  // of a vector, 0 to 1; a scalar body uses 1 / lanes
  Quantity vectors = 1;     // of one run of the vectorized loop
  Quantity rows = 1;        // unrolled spatial iterations
  Quantity terms = 1;       // unrolled reduction iterations
  Quantity results = 1;     // accumulators or elements: vectors * rows
  Quantity compute = 0, loads = 0, stores = 0, issue = 0, chain = 0;  // cycles
  Quantity loaded = 0, stored = 0;                                    // operations
  Quantity gathered = 0;                                              // loads of single lanes
  Quantity registers = 0;                                             // vector registers needed
  Quantity spilled = 0;                                               // beyond those there are
  Quantity body = 0;  // cycles of one body: the largest of the above
  Quantity tail = 1;  // cycles of all bodies over those of as many whole ones
  // The nest.
  Quantity bodies = 0;                          // runs of the body
  Quantity entries = 0;                         // of the innermost serial loop
  Quantity inner_trip = 1;                      // its iterations
  Quantity overhead = 0;                        // cycles of loops
  Quantity core = 0;                            // cycles in all on one core
  std::array<Quantity, kCacheLevels> lines{};   // brought across each boundary, evictions included
  std::array<Quantity, kCacheLevels> needed{};  // each line that is touched, once
  std::array<Quantity, kCacheLevels> cycles{};  // that takes
  Quantity fullest = 0;  // share of the ways of the fullest set of L1 that rows compete for
  // All cores.
  Quantity tasks = 0;    // iterations of the parallel loop, 0 without one
  Quantity balance = 1;  // of the cores' time, the share that is work
  Quantity launch = 0;   // cycles
  Quantity time = 0;     // cycles in all
};

struct ScheduleCost {
  std::vector<StageCost> stages;  // in execution order
  Quantity cycles;                // of a call
  Quantity code;                  // instructions, roughly
  double ideal_cycles = 1;        // all floating-point operations at the cores' peak
};

ScheduleCost cost_of(const State& state, const Shape& shape, const DeviceModel& device);

}  // namespace espalier
