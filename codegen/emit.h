// Text and object files of a kernel, for any target.
#pragma once

#include <string>

#include "espalier/ir/stmt.h"
#include "espalier/support/result.h"
#include "espalier/support/target.h"

namespace espalier {

// Each runs the passes first. The functions `main` and, when there is something to pack, `pack` are
// defined under their names, as JitCode::Entry describes; they refer to espalier_parallel_for and
// espalier_fmod at most (x86 without FMA or SSE4.1 also to the C library's fma, floor, ...).
// Errors: an architecture that LLVM cannot generate code for.

// LLVM IR; `optimized`: after LLVM's passes, as it goes into machine code.
Result<std::string> emit_llvm_ir(const LoweredKernel& lowered, const Target& target,
                                 bool optimized = true);
// With comments on blocks and loops.
Result<std::string> emit_assembly(const LoweredKernel& lowered, const Target& target);
// The bytes of an ELF object, position-independent.
Result<std::string> emit_object(const LoweredKernel& lowered, const Target& target);

}  // namespace espalier
