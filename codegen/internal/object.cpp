#include "espalier/codegen/internal/object.h"

#include <chrono>

#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

namespace espalier::internal {

int64_t Stopwatch::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double Stopwatch::lap() {
  const int64_t t = now();
  const double us = static_cast<double>(t - last_) / 1e3;
  last_ = t;
  return us;
}

Result<BuiltModule> build_module(const LoweredKernel& final, const Target& target, bool optimized,
                                 CompileStats* stats) {
  Stopwatch watch;
  const TargetTraits traits = traits_of(target);
  BuiltModule built;
  ESP_TRY(built.machine, make_machine(traits));
  built.context = std::make_unique<llvm::LLVMContext>();
  built.module = std::make_unique<llvm::Module>(final.main.name, *built.context);
  built.module->setTargetTriple(traits.triple);
  built.module->setDataLayout(built.machine->createDataLayout());
  emit_function(*built.module, final.main, traits);
  if (final.pack.body) emit_function(*built.module, final.pack, traits);
  std::string problem;
  llvm::raw_string_ostream out(problem);
  if (llvm::verifyModule(*built.module, &out)) {
    return make_error(ErrorCode::Internal, "generated code of ", final.main.name,
                      " is malformed: ", problem);
  }
  if (stats != nullptr) stats->emit_us += watch.lap();
  if (optimized) optimize(*built.module, *built.machine);
  if (stats != nullptr) {
    stats->optimize_us += watch.lap();
    stats->instructions += built.module->getInstructionCount();
  }
  return built;
}

}  // namespace espalier::internal
