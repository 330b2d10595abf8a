#pragma once

#include "espalier/ir/stmt.h"

namespace espalier {

// Takes conditions that do not change in an innermost serial loop out of it: the loop is made once
// for each outcome. Only where that makes little code: the whole body is the If, or it is small.
Stmt unswitch(const Stmt& s);

}  // namespace espalier
