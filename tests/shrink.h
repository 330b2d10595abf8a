// Makes a failing case short.
#pragma once

#include "differential.h"

namespace espalier {

// Drops steps, lowers numbers and extents, and takes away specials and threads, one at a time,
// while the case still fails in a child process in the same activity. `seconds` bounds the search.
std::string shrink(std::string case_text, Activity activity, Depth depth, double seconds = 60);

}  // namespace espalier
