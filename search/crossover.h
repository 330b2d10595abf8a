// Crossover: a candidate made of parts of two others.
#pragma once

#include <optional>

#include "espalier/search/mutation.h"

namespace espalier {

// Of one sketch: each number from one parent or the other. Of different sketches: each structural
// decision of one parent is taken as the other has it where that has one of the same name, with
// probability 1/2, or none of them is (also 1/2); numbers come from either parent by the names of
// slots. Nothing where the result is not legal or equals a
// parent, and for sketches that did not come from the space.
std::optional<Candidate> cross(const SketchSpace& space, const Parent& a, const Parent& b,
                               Rng& rng);

}  // namespace espalier
