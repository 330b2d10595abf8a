#include "espalier/codegen/emit.h"

#include "espalier/codegen/internal/object.h"
#include "espalier/codegen/pipeline.h"
#include "llvm/Support/raw_ostream.h"

namespace espalier {
namespace {

LoweredKernel finished(const LoweredKernel& lowered, const Target& target) {
  return {run_passes(lowered.main, target), run_passes(lowered.pack, target)};
}

Result<std::string> emit_bytes(const LoweredKernel& lowered, const Target& target,
                               llvm::CodeGenFileType type) {
  ESP_TRY(internal::BuiltModule built,
          internal::build_module(finished(lowered, target), target, /*optimized=*/true, nullptr));
  ESP_TRY(const auto bytes, internal::emit_file(*built.module, *built.machine, type));
  return std::string(bytes.data(), bytes.size());
}

}  // namespace

Result<std::string> emit_llvm_ir(const LoweredKernel& lowered, const Target& target,
                                 bool optimized) {
  ESP_TRY(const internal::BuiltModule built,
          internal::build_module(finished(lowered, target), target, optimized, nullptr));
  std::string text;
  llvm::raw_string_ostream out(text);
  out << *built.module;
  return text;
}

Result<std::string> emit_assembly(const LoweredKernel& lowered, const Target& target) {
  return emit_bytes(lowered, target, llvm::CodeGenFileType::AssemblyFile);
}

Result<std::string> emit_object(const LoweredKernel& lowered, const Target& target) {
  return emit_bytes(lowered, target, llvm::CodeGenFileType::ObjectFile);
}

}  // namespace espalier
