// Neighbours: candidates that differ from a given one in one or two decisions.
#pragma once

#include <vector>

#include "espalier/search/sketch_space.h"

namespace espalier {

// One slot at the values up to `radius` places away in its domain, nearest first. Legal ones only.
std::vector<Candidate> slot_neighbours(const Task& task, const Candidate& centre, int radius);

// Two slots one place away each, in all four directions. Legal ones only.
std::vector<Candidate> slot_pair_neighbours(const Task& task, const Candidate& centre);

// One structural decision taken differently, the others as they are where they still arise, the
// numbers carried over. Nothing for a sketch that the space does not know.
std::vector<Candidate> structure_neighbours(const SketchSpace& space, const Candidate& centre);

}  // namespace espalier
