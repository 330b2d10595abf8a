#include "espalier/codegen/textbook.h"

#include "espalier/codegen/internal/object.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"

namespace espalier {

Result<double> textbook_compile_us(const LoweredKernel& lowered, const Target& target) {
  const LoweredKernel final{run_passes(lowered.main, target), run_passes(lowered.pack, target)};
  ESP_TRY(internal::BuiltModule built,
          internal::build_module(final, target, /*optimized=*/false, nullptr));
  built.machine->setOptLevel(llvm::CodeGenOptLevel::Aggressive);
  internal::Stopwatch watch;
  llvm::PassBuilder builder(built.machine.get());
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cam;
  llvm::ModuleAnalysisManager mam;
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cam, mam);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(*built.module, mam);

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  if (built.machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile,
                                         /*DisableVerify=*/true)) {
    return make_error(ErrorCode::Unsupported, "LLVM cannot write an object for ",
                      built.machine->getTargetTriple().str());
  }
  passes.run(*built.module);
  return watch.lap();
}

}  // namespace espalier
