// Kernel: a compiled schedule that can be called.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "espalier/codegen/jit.h"
#include "espalier/runtime/array_view.h"
#include "espalier/runtime/rt/espalier_rt.h"
#include "espalier/schedule/state.h"

namespace espalier {

struct RunOptions {
  /// Threads that take part, at most those of the task; 0: all of them. The result is the same bit
  /// for bit whatever their number.
  int threads = 0;
  /// The host's own pool, instead of the one that the kernel would start; it must have at most the
  /// slots that the kernel was compiled for, and `threads` is not looked at.
  espalier_context* context = nullptr;
  /// Scratch memory of the caller's, aligned to 64 bytes and of at least workspace_bytes(); empty:
  /// the kernel's own, of which each call that runs at the same time has one.
  std::span<std::byte> workspace = {};
};

/// Immutable: copies share the code, and calls may run in several threads at once.
class Kernel {
 public:
  /// A kernel of the same code whose constants have these values (in the order of dag.constants()).
  /// They are copied, packed if the schedule says so, and not needed afterwards.
  Result<Kernel> bind(std::span<const ArrayView> constants) const;
  Result<Kernel> bind(std::initializer_list<ArrayView> constants) const {
    return bind(std::span(constants.begin(), constants.size()));
  }
  /// Whether there is nothing to bind, or it was bound.
  bool bound() const;

  /// Computes the outputs from the inputs, in the order of dag.inputs() and dag.outputs(). Errors,
  /// in which case nothing was computed: a wrong number of arrays, or one of the wrong type, shape,
  /// strides or alignment; an output that overlaps an input or another output; an element of an
  /// index input outside its value range; constants that were not bound; too small a workspace.
  Result<void> run(std::span<const ArrayView> inputs, std::span<const ArrayView> outputs,
                   const RunOptions& options = {}) const;
  Result<void> run(std::initializer_list<ArrayView> inputs,
                   std::initializer_list<ArrayView> outputs, const RunOptions& options = {}) const {
    return run(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()),
               options);
  }
  Result<void> run(const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                   const RunOptions& options = {}) const;

  /// Bytes of scratch memory that a call needs.
  int64_t workspace_bytes() const;
  /// Threads that it was compiled for.
  int threads() const;
  const CompileStats& stats() const;
  /// What was compiled: the functions after the last pass.
  const LoweredKernel& lowered() const;
  /// Zero-filled arrays for the outputs.
  std::vector<Array> make_outputs() const;

  /// The two halves of run(), for calls that are repeated on the same arrays: the checked argument
  /// list, and the bare call, which returns what generated code returns (0: good). `workspace` must
  /// have workspace_bytes(); a null context runs serially.
  Result<std::vector<void*>> arguments(std::span<const ArrayView> inputs,
                                       std::span<const ArrayView> outputs) const;
  int32_t call(void* const* arguments, void* workspace, espalier_context* context) const;

 private:
  friend Result<Kernel> compile(const LoweredKernel&, const ComputeDag&, const Target&);
  struct Code;
  struct Binding;
  Kernel(std::shared_ptr<const Code> code, std::shared_ptr<const Binding> binding);
  std::shared_ptr<const Code> code_;
  std::shared_ptr<const Binding> binding_;  // null until bound
};

/// Lowers a schedule and compiles it for its task's target, which this machine must be able to run.
Result<Kernel> compile(const State& state);
/// Compiles what a schedule of the DAG was lowered to.
Result<Kernel> compile(const LoweredKernel& lowered, const ComputeDag& dag, const Target& target);

}  // namespace espalier
