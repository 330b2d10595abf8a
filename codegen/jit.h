// Machine code in this process.
#pragma once

#include <cstdint>
#include <memory>

#include "espalier/codegen/pipeline.h"
#include "espalier/ir/stmt.h"
#include "espalier/runtime/rt/espalier_rt.h"
#include "espalier/support/result.h"
#include "espalier/support/target.h"

namespace espalier {

// Where compiling spent its time (in microseconds) and what came out.
struct CompileStats {
  double passes_us = 0;    // run_passes
  double emit_us = 0;      // LLVM IR
  double optimize_us = 0;  // LLVM's passes
  double codegen_us = 0;   // machine code
  double link_us = 0;
  int64_t code_bytes = 0;    // of the object: code, constants and symbols
  int64_t instructions = 0;  // of LLVM, before instruction selection
  double total_us() const { return passes_us + emit_us + optimize_us + codegen_us + link_us; }
};

// A compiled kernel. Owns its machine code, which is freed on destruction; nothing else of it stays
// behind. Any number may be compiled at once on different threads; the code may run on several
// threads at once, each call with its own workspace.
class JitCode {
 public:
  // `params`: one pointer a parameter of the function, to the first element, aligned as the buffer
  // says. `workspace`: workspace_bytes() bytes, aligned to 64. `ctx`: how parallel loops run; null
  // runs them serially. Returns 0, ESPALIER_ERROR_SLOTS, or an error of the context's hook.
  using Entry = int32_t (*)(void* const* params, void* workspace, espalier_context* ctx);

  // Runs the passes on both functions and compiles them. Errors: a target that is not of this
  // machine's architecture, or that has features the machine lacks.
  static Result<JitCode> compile(const LoweredKernel& lowered, const Target& target,
                                 CompileStats* stats = nullptr);

  JitCode(JitCode&&) noexcept;
  JitCode& operator=(JitCode&&) noexcept;
  ~JitCode();

  Entry main() const;
  Entry pack() const;  // null when there is nothing to pack
  // Enough for either function and the slots lowered for; 0 when there is no need of one.
  int64_t workspace_bytes() const;
  // What was compiled: the functions after the last pass.
  const LoweredKernel& final() const;

 private:
  struct Impl;
  explicit JitCode(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace espalier
