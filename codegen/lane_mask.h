// Predicates whose true lanes are known: the first `n` of them.
#pragma once

#include <optional>

#include "espalier/ir/expr.h"

namespace espalier {

// lane < n, for 0 <= n <= lanes: the form in which vectorization writes the mask of a last vector.
Expr make_prefix_mask(int n, int lanes);

// The number of leading lanes, of `lanes`, that a predicate selects, if that is all it selects. An
// empty predicate selects all.
std::optional<int> prefix_of(const Expr& predicate, int lanes);

// Lanes from this one on are never selected; `lanes` if nothing is known of the last.
int lanes_before(const Expr& predicate, int lanes);

}  // namespace espalier
