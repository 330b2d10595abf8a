#pragma once

#include "espalier/ir/stmt.h"
#include "espalier/support/target.h"

namespace espalier {

// Turns Vectorized loops into vector code. A vector has as many lanes as the
// target's vectors hold of the widest data type in the body. Whole vectors come first: straight
// code when they are few, else a serial loop. The rest is one narrower vector where its length is a
// power of two or the target loads under a mask, and falling powers of two otherwise.
//
// Conditions that differ between lanes become predicates; a store to one element of op(element,
// term) becomes a LaneReduce of the terms. Loops that have no vector form, or whose iterations
// cannot be shown to be independent, become Serial.
Stmt vectorize(const Stmt& s, const Target& target);

// Whether loads of elements of this many bytes under a mask are cheap on the target.
bool has_masked_loads(const Target& target, int element_bytes);

}  // namespace espalier
