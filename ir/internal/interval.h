// Interval arithmetic: what operations do to bounds of integers, without ever claiming too much.
#pragma once

#include "espalier/ir/simplify.h"

namespace espalier {

// Bounds before they are known to fit a type. All results are exact or, past 128 bits, unbounded.
using Int128 = __int128;
struct Wide {
  Int128 lo = 0, hi = 0;
  static constexpr Int128 kUnbounded = Int128{1} << 126;
  static Wide of(Interval r) { return {r.lo, r.hi}; }
  static Wide unbounded() { return {-kUnbounded, kUnbounded}; }
  bool bounded() const { return lo > -kUnbounded && hi < kUnbounded; }
};
Wide operator+(Wide a, Wide b);
Wide operator*(Wide a, Int128 factor);

Int128 floordiv(Int128 a, Int128 b);  // b > 0
inline Int128 floormod(Int128 a, Int128 b) { return a - b * floordiv(a, b); }

// All values of an integer type or bool. Those of u64 are its bit patterns as i64, here and below.
Interval type_range(DType t);
// The values of `t` whose interval is the number itself: type_range, but for u64 [0, 2^63).
bool fits(Wide r, DType t);
inline Interval clamp_to(Wide r, DType t) {
  return fits(r, t) ? Interval{static_cast<int64_t>(r.lo), static_cast<int64_t>(r.hi)}
                    : type_range(t);
}
inline Interval hull(Interval a, Interval b) {
  return {a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

// Bounds of op(a, b) for operands of type `t` within the intervals. Operators whose result is bool
// give [0, 0], [1, 1] or [0, 1].
Interval range_of_binary(BinaryOp op, DType t, Interval a, Interval b);
Interval range_of_unary(UnaryOp op, DType t, Interval a);
// Bounds of a cast; `a` counts when `from` is an integer type or bool.
Interval range_of_cast(DType from, DType to, Interval a);

}  // namespace espalier
