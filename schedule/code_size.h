// What inlining makes of the code of a stage; see also code_size() of a whole schedule.
#pragma once

#include "espalier/schedule/state.h"

namespace espalier {

// Instructions, roughly, of the longest element of a stage that reads `s`, if `s` were inlined.
// What is read several times is there as often, so a chain of such stages would double and double
// again.
double inlined_code_size(const State& state, StageId s);
inline constexpr double kMaxInlinedCodeSize = 2500;

}  // namespace espalier
