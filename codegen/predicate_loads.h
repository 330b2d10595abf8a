#pragma once

#include "espalier/ir/stmt.h"

namespace espalier {

// Gives every load on one side of a Select the condition as predicate (in addition to its own),
// unless reading is harmless there anyway. After this both sides of a Select may be computed.
Stmt predicate_loads(const Stmt& s);

}  // namespace espalier
