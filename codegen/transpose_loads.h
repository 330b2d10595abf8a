#pragma once

#include "espalier/ir/stmt.h"

namespace espalier {

// Straight code that reads column after column of rows that lie apart in memory (lanes with a
// stride, as many such vectors as one has lanes, at offsets that follow one another) reads the rows
// instead and takes the columns from a tile in registers. Flattened code.
Stmt transpose_loads(const Stmt& s);

}  // namespace espalier
