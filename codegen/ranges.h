// What loops say about their variables.
#pragma once

#include "espalier/ir/simplify.h"

namespace espalier {

// The values of the variable of a loop that runs at least once.
Interval loop_range(const Expr& min, const Expr& extent, const Bounds& bounds);

// Whether every index of an access to a whole parameter stays within the buffer's shape, so that
// reading there is harmless even where the value is not wanted. Never proven of other buffers,
// whose cells may not have been written yet.
bool reads_are_harmless(const LoadNode& load, const Bounds& bounds);

}  // namespace espalier
