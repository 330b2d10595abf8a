#pragma once

#include "espalier/ir/simplify.h"

namespace espalier {

// Some iterations of a loop that become the lanes of vectors.
struct LaneBlock {
  Var var;    // of the loop
  Expr base;  // its value in lane 0
  int lanes = 1;
  int active = 1;  // leading lanes that stand for iterations; the others have no effect
};

// `body` for all iterations of the block at once: expressions that depend on the loop's variable
// become vectors, conditions on it predicates of the accesses below. Requires
// lanes_are_independent. Nothing comes back if some part has no vector form.
std::optional<Stmt> rewrite_lanes(const Stmt& body, const LaneBlock& block, const Bounds& bounds);

}  // namespace espalier
