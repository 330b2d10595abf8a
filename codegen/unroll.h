#pragma once

#include "espalier/ir/stmt.h"

namespace espalier {

// Replaces Unrolled loops by copies of their bodies, the loop's variable substituted. Expressions
// are simplified as they are copied, so that conditions on the variable fold away and code that
// they exclude is never made. Loops whose extent is not a constant become Serial ones.
Stmt unroll(const Stmt& s);

}  // namespace espalier
