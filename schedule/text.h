// The line form of a single step. Whole traces: to_string and parse_trace of schedule/state.h.
#pragma once

#include <string>

#include "espalier/schedule/state.h"

namespace espalier {

// "C: split j by 4 32", named as in `state`, to which the step is to be applied. Ids that name
// nothing there print as "?7".
std::string to_string(const Step& step, const State& state);

// Reads one line, with the names of `state`. The step is not applied: names behind an arrow are not
// checked.
Result<Step> parse_step(std::string_view line, const State& state);

}  // namespace espalier
