// LLVM's view of a Target, and machine code from a module.
#pragma once

#include <memory>
#include <string>

#include "espalier/codegen/internal/emitter.h"
#include "espalier/support/result.h"
#include "espalier/support/target.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Target/TargetMachine.h"

namespace espalier::internal {

TargetTraits traits_of(const Target& target);

// Errors: an architecture this LLVM was not built for.
Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const TargetTraits& traits);

// The few passes that code from emit_function needs: the loops have their shape already.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);

// Machine code or assembly text of an optimized module.
Result<llvm::SmallVector<char, 0>> emit_file(llvm::Module& module, llvm::TargetMachine& machine,
                                             llvm::CodeGenFileType type);

}  // namespace espalier::internal
