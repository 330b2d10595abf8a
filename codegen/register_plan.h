// How a buffer of register scope is cut into SSA values.
#pragma once

#include <optional>
#include <vector>

#include "espalier/ir/stmt.h"

namespace espalier {

// One value: `lanes` lanes, of which the first `active` hold elements offset, offset + 1, ... Some
// accesses may touch only the first of them: the last terms of a reduction that was cut into
// vectors.
struct RegisterSlot {
  int64_t offset = 0;
  int lanes = 1;
  int active = 1;
  friend bool operator==(const RegisterSlot&, const RegisterSlot&) = default;
};

// The slot that an access with this flat offset and predicate touches, if both are constants and
// the lanes are neighbours.
std::optional<RegisterSlot> register_slot(const Expr& offset, const Expr& predicate, int lanes);

// The slots of all accesses to `buffer` in `body` (flattened code), or nothing when the buffer must
// be memory: some offset is not a constant, two accesses overlap that do not begin at the same
// element, or one lies inside a parallel loop when `parallel_outlined`.
std::optional<std::vector<RegisterSlot>> plan_registers(const Buffer& buffer, const Stmt& body,
                                                        bool parallel_outlined);

}  // namespace espalier
