// Which numbers are worth trying in a slot: the one place that says so.
#include <algorithm>

#include "espalier/schedule/candidate.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

// Divisors up to the limit, found by trial; those whose cofactor exceeds the bound on trials are
// left out (the extent is then in the billions).
void add_divisors(int64_t extent, int64_t limit, std::vector<int64_t>* values) {
  constexpr int64_t kTrials = 1 << 16;
  for (int64_t d = 1; d <= kTrials && d * d <= extent; ++d) {
    if (extent % d != 0) continue;
    if (d <= limit) values->push_back(d);
    if (extent / d <= limit) values->push_back(extent / d);
  }
}

// Sizes of p parts that are as equal as can be: what remains for extents with few divisors.
void add_balanced(int64_t extent, int64_t limit, std::vector<int64_t>* values) {
  for (int64_t p : {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64}) {
    const int64_t size = ceil_div(extent, p);
    if (size <= limit) values->push_back(size);
  }
}

}  // namespace

std::vector<int64_t> domain(SlotKind kind, int64_t extent, int64_t room, const Target& target) {
  extent = std::max<int64_t>(extent, 1);
  room = std::clamp<int64_t>(room, 1, extent);
  // Elements of four bytes are the usual case; other types meet their lanes among the multiples.
  const int64_t lanes = std::max<int64_t>(target.lanes(4), 1);
  const int64_t registers = std::max<int64_t>(target.vector_registers, 1);

  std::vector<int64_t> values;
  switch (kind) {
    case SlotKind::Tile: {
      add_divisors(extent, room, &values);
      add_balanced(extent, room, &values);
      for (int64_t v = lanes; v <= room && v <= 64 * lanes; v *= 2) values.push_back(v);
      break;
    }
    case SlotKind::Vector: {
      // Whole vectors up to a quarter of the register file; the last one may hang over the room.
      const int64_t limit =
          std::min(round_up(room, lanes), std::max<int64_t>(registers / 4, 4) * lanes);
      for (int64_t v = lanes; v <= limit; v += lanes) values.push_back(v);
      // Half, quarter and less: only where the room is narrow.
      for (int64_t v = lanes / 2; v >= 1; v /= 2) {
        if (v <= room && v > room / 4) values.push_back(v);
      }
      if (room < lanes) values.push_back(room);
      break;
    }
    case SlotKind::Register: {
      const int64_t limit = std::min(room, registers);
      for (int64_t v = 1; v <= std::min<int64_t>(limit, 16); ++v) values.push_back(v);
      add_divisors(extent, limit, &values);
      add_balanced(extent, limit, &values);
      break;
    }
    case SlotKind::Unroll: {
      // For one loop a limit says yes or no.
      values = {0, 1};
      break;
    }
    case SlotKind::Prefetch: {
      values = {1};
      for (int64_t v = 2; v <= std::min<int64_t>(room, 32); v *= 2) values.push_back(v);
      break;
    }
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.empty()) values.push_back(1);
  return values;
}

}  // namespace espalier
