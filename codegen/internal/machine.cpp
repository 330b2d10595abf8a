#include "espalier/codegen/internal/machine.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <string_view>

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Pass.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

namespace espalier::internal {
namespace {

// LLVM keeps its targets in a table of its own, filled once a process.
void initialize_targets() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    llvm::InitializeAllAsmParsers();
  });
}

// Passes of code generation that are left out, by LLVM's names for them; each costs its setup even
// where it finds nothing.
constexpr std::string_view kPassesLeftOut[] = {
    // Addresses have their final form already (hoist_offsets, emit_for), and looking for a better
    // one takes half of all the time.
    "Loop Strength Reduction",
    "Canonicalize Freeze Instructions in Loops",
    // Processors with such vectors reorder by themselves; the order before registers are allocated
    // is what matters.
    "Post RA top-down list latency scheduler",
    // They weigh branches and chains of integers by traces; our inner code has neither.
    "Early If-Conversion",
    "Machine InstCombiner",
    "X86 cmov Conversion",
    // What no code of ours has: calls of the C library to improve on, tiles, garbage collection,
    // exceptions, thread-local storage, debug values, instrumentation, hardening against others.
    "Merge contiguous icmps into a memcmp",
    "Expand memcmp() to load/stores",
    "Replace intrinsics with calls to vector library",
    "Partially inline calls to library functions",
    "Expand vector predication intrinsics",
    "Interleaved Access Pass",
    "X86 Partial Reduction",
    "X86 Domain Reassignment Pass",
    "Lower AMX intrinsics",
    "Lower AMX type for load/store",
    "Tile Register Pre-configure",
    "Tile Register Configure",
    "X86 Lower Tile Copy",
    "Lower Garbage Collection Instructions",
    "Shadow Stack GC Lowering",
    "Fixup Statepoint Caller Saved",
    "Analyze Machine Code For Garbage Collection",
    "StackMap Liveness Analysis",
    "Exception handling preparation",
    "Contiguously Lay Out Funclets",
    "TLS Variable Hoist",
    "Local Dynamic TLS Access Clean-up",
    "Expand indirectbr instructions",
    "Prepare callbr",
    "Safe Stack instrumentation pass",
    "Argument Stack Rebase",
    "Remove Redundant DEBUG_VALUE analysis",
    "Live DEBUG_VALUE analysis",
    "Register Allocation Pass Scoring",
    "Stack Frame Layout Analysis",
    "Pseudo Probe Inserter",
    "Machine Sanitizer Binary Metadata",
    "Instrument function entry/exit with calls to e.g. mcount() (post inlining)",
    "Insert fentry calls",
    "Insert XRay ops",
    "Implement the 'patchable-function' attribute",
    "Insert KCFI indirect call checks",
    "X86 Windows Fixup Buffer Security Check",
    "X86 speculative load hardening",
    "X86 Load Value Injection (LVI) Load Hardening",
    "X86 Load Value Injection (LVI) Ret-Hardening",
    "X86 Speculative Execution Side Effect Suppression",
    "X86 Indirect Branch Tracking",
    "X86 Indirect Thunks",
    "X86 Return Thunks",
    "X86 Atom pad short functions",
    "X86 Discriminate Memory Operands",
    "X86 Insert Cache Prefetches",
};

class CodegenPasses : public llvm::legacy::PassManager {
 public:
  void add(llvm::Pass* pass) override {
    const llvm::StringRef name = pass->getPassName();
    if (std::find(std::begin(kPassesLeftOut), std::end(kPassesLeftOut), std::string_view(name)) !=
        std::end(kPassesLeftOut)) {
      delete pass;
      return;
    }
    llvm::legacy::PassManager::add(pass);
  }
};

}  // namespace

TargetTraits traits_of(const Target& target) {
  TargetTraits traits;
  traits.cpu = target.cpu.empty() ? "generic" : target.cpu;
  if (target.cpu.empty() && target.arch == "x86_64") traits.cpu = "x86-64";
  traits.features = target.llvm_features();
  traits.triple = target.triple();
  traits.vector_bits = target.vector_bits;
  traits.is_x86 = target.arch == "x86_64";
  const bool avx512 = target.has("avx512f") && target.has("avx512vl");
  traits.masked_stores = avx512;
  traits.f16_conversions = !traits.is_x86 || avx512 || target.has("f16c");
  if (avx512) {
    traits.masked_load_bytes = target.has("avx512bw") ? 1 : 4;
  } else if (target.has("avx") || target.has("avx2")) {
    traits.masked_load_bytes = 4;
  }
  return traits;
}

Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const TargetTraits& traits) {
  initialize_targets();
  std::string problem;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(traits.triple, problem);
  if (target == nullptr) {
    return make_error(ErrorCode::Unsupported, "no code can be generated for ", traits.triple, ": ",
                      problem);
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      traits.triple, traits.cpu, traits.features, options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (machine == nullptr) {
    return make_error(ErrorCode::Unsupported, "no code can be generated for ", traits.triple);
  }
  return machine;
}

Result<llvm::SmallVector<char, 0>> emit_file(llvm::Module& module, llvm::TargetMachine& machine,
                                             llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  // Comments that say which loop a block belongs to (asm_report.h reads them).
  machine.Options.MCOptions.AsmVerbose = type == llvm::CodeGenFileType::AssemblyFile;
  CodegenPasses passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true)) {
    return make_error(ErrorCode::Unsupported, "LLVM cannot write this kind of file for ",
                      machine.getTargetTriple().str());
  }
  passes.run(module);
  return bytes;
}

}  // namespace espalier::internal
