// What LLVM's own pipeline takes, to compare ours with.
#pragma once

#include "espalier/ir/stmt.h"
#include "espalier/support/result.h"
#include "espalier/support/target.h"

namespace espalier {

// Microseconds of `default<O3>` and unchanged code generation to an object, from the LLVM module
// that our own pipeline starts from too; making that module is not counted. Errors: as emit_object.
Result<double> textbook_compile_us(const LoweredKernel& lowered, const Target& target);

}  // namespace espalier
