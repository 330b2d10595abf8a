// What the paper's method comes to for one task, and what each step beyond it brings.
#pragma once

#include <map>
#include <vector>

#include "transfer/donations/donations.h"

namespace espalier::bench {

// Schedules that one way of carrying over makes of the best schedules of some donors.
struct Rung {
  std::vector<Candidate> candidates;  // distinct ones, legal
  int invalid = 0;                    // donors of which nothing came that applies
};

struct Ladder {
  size_t in_class = 0;           // other programs of the task's operator class
  std::vector<Donation> donors;  // those of them that were drawn
  Rung paper;                    // steps by position, numbers as they are
  Rung map;                      // steps along the map, numbers as they are
  Rung refit;                    // and numbers refitted
};

// At most `most` donors, drawn with the seed.
Ladder climb(const Donations& donations, const Task& task, size_t most, uint64_t seed);

}  // namespace espalier::bench
