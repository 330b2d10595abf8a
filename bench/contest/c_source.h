// Loops as C: what a person would write down from the definition, for other compilers.
#pragma once

#include <string>

#include "espalier/ir/stmt.h"
#include "espalier/support/result.h"

namespace espalier::bench {

/// A translation unit of C11 with `void espalier_kernel(void *const *arguments)`, which takes the
/// params of `func` in order. Scratch buffers are static, so calls must not overlap. Unsupported:
/// vectors, predicated or flat accesses (lower a schedule without them), 16-bit floats.
/// `-ffast-math` may be used: infinities in the source become the largest finite numbers.
Result<std::string> c_source(const LoweredFunc& func);

}  // namespace espalier::bench
