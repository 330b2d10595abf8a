#pragma once

#include "espalier/ir/stmt.h"

namespace espalier {

// Splits the offsets of flat accesses by the loops they change in: what depends on outer loops only
// is bound there once, the next loop adds its part to that, and what is left at the access is a
// variable plus a constant, which the machine's addressing does for nothing. Accesses with equal
// parts share them.
Stmt hoist_offsets(const Stmt& s);

}  // namespace espalier
