// The steps from a lowered kernel to machine code, shared by the JIT and the exporters.
#pragma once

#include "espalier/codegen/internal/machine.h"
#include "espalier/codegen/jit.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace espalier::internal {

// An LLVM module with all that it refers to.
struct BuiltModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
};

// Microseconds since it was made, or since the last call of lap().
class Stopwatch {
 public:
  double lap();

 private:
  static int64_t now();  // nanoseconds
  int64_t last_ = now();
};

// Emits the functions of a kernel in final form into a module and optimizes it.
Result<BuiltModule> build_module(const LoweredKernel& final, const Target& target, bool optimized,
                                 CompileStats* stats);

}  // namespace espalier::internal
