// Tails: the guards of a freshly lowered nest become loop bounds, peeled tiles and cut loops.
#pragma once

#include "espalier/ir/stmt.h"

namespace espalier {

// An equal statement in which
//  * a serial or parallel loop whose whole body is guarded by a linear condition on it is clipped;
//  * a loop around tiles (unrolled or vectorized loops) that end inside a tile is cut in a part
//    where tiles are full and one, without a choice left in it, where they are not;
//  * a loop marked for partition is cut in low, interior and high parts, the interior without the
//    conditions that hold there.
// What cannot be decided this way stays a condition. Expects simplified input, gives simplified
// output.
Stmt resolve_tails(const Stmt& s);

}  // namespace espalier
