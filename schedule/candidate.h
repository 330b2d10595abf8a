// Sketch and Candidate: the structure of a schedule, and the numbers that complete it.
#pragma once

#include <memory>
#include <span>

#include "espalier/schedule/step.h"
#include "espalier/schedule/task.h"
#include "espalier/support/rng.h"

namespace espalier {

// What a decision means; it decides which values are worth trying.
enum class SlotKind : uint8_t {
  Tile,      // an inner factor of a split
  Vector,    // an inner factor that will be vectorized: multiples of the lanes first
  Register,  // an inner factor that will be unrolled into registers: small
  Unroll,    // an unroll limit: 0 is "always"
  Prefetch,  // a distance in iterations
};
std::string_view name_of(SlotKind k);

struct Slot {
  SlotKind kind = SlotKind::Tile;
  friend bool operator==(const Slot&, const Slot&) = default;
};

// A trace whose numbers may be slots. Slots are decided in the order of their first use.
struct Sketch {
  Trace steps;
  std::vector<Slot> slots;
  uint64_t hash() const;
};

struct Candidate {
  std::shared_ptr<const Sketch> sketch;
  std::vector<int32_t> decisions;  // one a slot

  uint64_t hash() const;  // of the trace with numbers filled in: equal schedules, equal hashes
  Trace trace() const;    // numbers filled in, no slots
};
Candidate make_candidate(Trace trace);  // a trace without slots

// The values worth trying for a slot of the given kind on a loop of the given extent: divisors,
// multiples of the lanes, balanced ceil(extent / p), ascending, without repeats. `room` bounds the
// value (the part of the extent that earlier factors of the same split have left); at least {1}.
std::vector<int64_t> domain(SlotKind kind, int64_t extent, int64_t room, const Target& target);

}  // namespace espalier
