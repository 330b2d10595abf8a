#include "espalier/codegen/jit.h"

#include <bit>
#include <cmath>

#include "espalier/codegen/internal/object.h"
#include "espalier/codegen/workspace.h"
#include "espalier/support/half.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

namespace espalier {
namespace {

using namespace llvm::orc;

Error to_error(llvm::Error error, const std::string& what) {
  return make_error(ErrorCode::Internal, what, ": ", llvm::toString(std::move(error)));
}

// A session of its own for each kernel: making one costs some ten microseconds, and ending it frees
// all that belongs to it.
Result<std::unique_ptr<ExecutionSession>> make_session() {
  auto control =
      SelfExecutorProcessControl::Create(nullptr, std::make_unique<InPlaceTaskDispatcher>());
  if (!control) return to_error(control.takeError(), "starting the linker");
  return std::make_unique<ExecutionSession>(std::move(*control));
}

// A half travels in a vector register, which is how the compiler passes _Float16.
float extend_half(_Float16 h) { return f16_to_float(std::bit_cast<uint16_t>(h)); }
_Float16 truncate_to_half(float v) { return std::bit_cast<_Float16>(f16_from_float(v)); }

// What code may call: the run-time part, and the C library for exact operations that a machine has
// no instruction for.
SymbolMap symbols_of_runtime(ExecutionSession& session) {
  SymbolMap symbols;
  const auto add = [&](const char* name, auto* function) {
    symbols[session.intern(name)] = {ExecutorAddr::fromPtr(function),
                                     llvm::JITSymbolFlags::Exported};
  };
  add("espalier_parallel_for", espalier_parallel_for);
  add("espalier_fmod", espalier_fmod);
  using F32 = float(float);
  using F64 = double(double);
  add("fmaf", static_cast<float (*)(float, float, float)>(std::fma));
  add("fma", static_cast<double (*)(double, double, double)>(std::fma));
  add("floorf", static_cast<F32*>(std::floor));
  add("floor", static_cast<F64*>(std::floor));
  add("ceilf", static_cast<F32*>(std::ceil));
  add("ceil", static_cast<F64*>(std::ceil));
  add("__extendhfsf2", extend_half);
  add("__truncsfhf2", truncate_to_half);
  // What LLVM makes of a clamped half.
  add("fminf", static_cast<float (*)(float, float)>(std::fmin));
  add("fmaxf", static_cast<float (*)(float, float)>(std::fmax));
  // In the default rounding mode, the only one that code is made for, these round ties to even.
  add("roundevenf", static_cast<F32*>(std::nearbyint));
  add("roundeven", static_cast<F64*>(std::nearbyint));
  return symbols;
}

}  // namespace

struct JitCode::Impl {
  LoweredKernel final;
  int64_t workspace_bytes = 0;
  Entry main = nullptr, pack = nullptr;
  std::unique_ptr<ExecutionSession> session;
  std::unique_ptr<ObjectLinkingLayer> layer;

  Result<void> link(llvm::SmallVector<char, 0> object);
  ~Impl() {
    if (session) llvm::consumeError(session->endSession());
  }
};

Result<void> JitCode::Impl::link(llvm::SmallVector<char, 0> object) {
  ESP_TRY(session, make_session());
  // What went wrong is reported here; a failed lookup says only which symbols it left undefined.
  auto report = std::make_shared<std::string>();
  session->setErrorReporter([report](llvm::Error error) {
    if (!report->empty()) *report += "; ";
    *report += llvm::toString(std::move(error));
  });
  layer = std::make_unique<ObjectLinkingLayer>(*session);
  JITDylib& dylib = session->createBareJITDylib("kernel");
  llvm::Error defined = dylib.define(absoluteSymbols(symbols_of_runtime(*session)));
  if (defined) return to_error(std::move(defined), "defining the run-time functions");
  auto buffer = std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), "kernel",
                                                                /*RequiresNullTerminator=*/false);
  if (llvm::Error added = layer->add(dylib, std::move(buffer))) {
    return to_error(std::move(added), "linking " + final.main.name);
  }
  const auto find = [&](const std::string& name, Entry* entry) -> Result<void> {
    auto symbol = session->lookup({&dylib}, name);
    if (!symbol) {
      Error error = to_error(symbol.takeError(), "linking " + name);
      if (!report->empty()) error.notes.push_back(*report);
      return error;
    }
    *entry = symbol->getAddress().toPtr<Entry>();
    return {};
  };
  ESP_TRY_VOID(find(final.main.name, &main));
  if (final.pack.body) ESP_TRY_VOID(find(final.pack.name, &pack));
  return {};
}

Result<JitCode> JitCode::compile(const LoweredKernel& lowered, const Target& target,
                                 CompileStats* stats) {
  CompileStats unused;
  CompileStats& s = stats != nullptr ? *stats : unused;
  // Asking the processor is slow under a hypervisor, and the answer never changes.
  static const Target machine = host_target();
  if (!target.runs_on(machine)) {
    return make_error(ErrorCode::Unsupported, "code for the target \"", to_string(target),
                      "\" cannot run on this machine (\"", to_string(machine),
                      "\"): export it as an object file instead");
  }
  internal::Stopwatch watch;
  auto impl = std::make_unique<Impl>();
  impl->final.main = run_passes(lowered.main, target);
  impl->final.pack = run_passes(lowered.pack, target);
  s.passes_us += watch.lap();
  impl->workspace_bytes = std::max(workspace_size(impl->final.main.body, impl->final.main.threads),
                                   workspace_size(impl->final.pack.body, impl->final.pack.threads));

  ESP_TRY(internal::BuiltModule built,
          internal::build_module(impl->final, target, /*optimized=*/true, &s));
  watch.lap();
  ESP_TRY(auto object,
          internal::emit_file(*built.module, *built.machine, llvm::CodeGenFileType::ObjectFile));
  s.codegen_us += watch.lap();
  s.code_bytes += static_cast<int64_t>(object.size());
  ESP_TRY_VOID(impl->link(std::move(object)));
  s.link_us += watch.lap();
  return JitCode(std::move(impl));
}

JitCode::JitCode(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JitCode::JitCode(JitCode&&) noexcept = default;
JitCode& JitCode::operator=(JitCode&&) noexcept = default;
JitCode::~JitCode() = default;

JitCode::Entry JitCode::main() const { return impl_->main; }
JitCode::Entry JitCode::pack() const { return impl_->pack; }
int64_t JitCode::workspace_bytes() const { return impl_->workspace_bytes; }
const LoweredKernel& JitCode::final() const { return impl_->final; }

}  // namespace espalier
