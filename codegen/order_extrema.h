#pragma once

#include "espalier/ir/stmt.h"

namespace espalier {

// Puts a constant bound of a floating-point minimum or maximum first: max(x, c) becomes max(c, x),
// one machine instruction where the other order needs a second look at x for NaN. The result can
// differ in the sign of a zero only, when x and c are zeros.
Stmt order_extrema(const Stmt& s);

}  // namespace espalier
