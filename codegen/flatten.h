#pragma once

#include "espalier/ir/stmt.h"

namespace espalier {

// Turns the indices of every access into one element offset, relative to the buffer's first
// element, by its strides. Lanes whose offsets are an arithmetic progression become a Ramp (a
// Broadcast when they are all the same).
Stmt flatten(const Stmt& s);

}  // namespace espalier
