#pragma once

#include "espalier/ir/stmt.h"

namespace espalier {

// Turns a sum or difference of a product into one Fma, rounded once, on all floating-point types,
// where the product is used nowhere else in its statement. A sum of two products fuses the second.
//
// For targets with a fused multiply-add; without one it is a call.
Stmt form_fma(const Stmt& s);

}  // namespace espalier
