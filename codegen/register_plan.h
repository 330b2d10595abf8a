// How a buffer of register scope is cut into SSA values.
#pragma once

#include <optional>
#include <vector>

#include "espalier/ir/stmt.h"

namespace espalier {

// One value: `lanes` lanes, of which the first `active` hold elements offset, offset + 1, ... Some
// accesses may touch only the first of them, the last terms of a reduction that was cut into
// vectors, or those that a predicate selects.
struct RegisterSlot {
  int64_t offset = 0;
  int lanes = 1;
  int active = 1;
  friend bool operator==(const RegisterSlot&, const RegisterSlot&) = default;
};

// The slot that an access with this flat offset and predicate touches, if the offset is a constant
// and the lanes are neighbours. Where the predicate is no constant, the active lanes are those
// before which it may hold.
std::optional<RegisterSlot> register_slot(const Expr& offset, const Expr& predicate, int lanes);

// A read of elements base, base + stride, ...: of the first `active` of `lanes` lanes.
struct StridedRead {
  int64_t base = 0, stride = 0;
  int lanes = 1, active = 1;
};

// The read that a load with this flat offset and predicate is, if both are constants and the stride
// is more than one element.
std::optional<StridedRead> strided_read(const Expr& offset, const Expr& predicate, int lanes);

// The slots of all accesses to `buffer` in `body` (flattened code), or nothing when the buffer must
// be memory: some offset is not a constant, two accesses overlap that do not begin at the same
// element, a strided read is not of one and the same lane of slots alike, or an access lies inside
// a parallel loop when `parallel_outlined`.
std::optional<std::vector<RegisterSlot>> plan_registers(const Buffer& buffer, const Stmt& body,
                                                        bool parallel_outlined);

}  // namespace espalier
