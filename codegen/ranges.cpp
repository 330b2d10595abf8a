#include "espalier/codegen/ranges.h"

namespace espalier {

Interval loop_range(const Expr& min, const Expr& extent, const Bounds& bounds) {
  const Interval first = bounds.of(min), count = bounds.of(extent);
  Interval range;
  range.lo = first.lo;
  int64_t last;
  if (!__builtin_add_overflow(first.hi, count.hi, &last) &&
      !__builtin_sub_overflow(last, int64_t{1}, &last)) {
    range.hi = last;
  }
  return range;
}

bool reads_are_harmless(const LoadNode& load, const Bounds& bounds) {
  if (load.buffer->scope != BufferScope::Param || load.flat) return false;
  for (size_t d = 0; d < load.indices.size(); ++d) {
    const Interval range = bounds.of(load.indices[d]);
    if (range.lo < 0 || range.hi >= load.buffer->shape[d]) return false;
  }
  return true;
}

}  // namespace espalier
