#include "espalier/runtime/kernel.h"

#include <cstring>
#include <mutex>
#include <optional>

#include "espalier/runtime/argument_checks.h"
#include "espalier/runtime/array_arena.h"
#include "espalier/runtime/pool.h"
#include "espalier/schedule/lower.h"

namespace espalier {
namespace {

using Role = LoweredFunc::Role;

// Where a parameter's pointer comes from: a position among the arrays of its role.
struct ParamSource {
  Role role = Role::Input;
  size_t index = 0;
};

// Scratch memory of calls that were given none: each takes a piece and puts it back.
class Scratch {
 public:
  Result<ArrayArena> take(int64_t bytes, int number) {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        ArrayArena piece = std::move(free_.back());
        free_.pop_back();
        return piece;
      }
    }
    return ArrayArena::make(std::span(&bytes, 1), number);
  }
  void put_back(ArrayArena piece) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(piece));
  }

 private:
  std::mutex mutex_;
  std::vector<ArrayArena> free_;
};

// The kernel's own pool, started by the first call that needs it.
class LazyPool {
 public:
  Result<espalier_context> context(int pool_threads, int threads) {
    const std::lock_guard lock(mutex_);
    if (!pool_) {
      ESP_TRY(pool_, Pool::make(pool_threads));
    }
    return pool_->context(threads);
  }

 private:
  std::mutex mutex_;
  std::optional<Pool> pool_;
};

size_t position(const std::vector<int>& stages, int stage) {
  const auto at = std::find(stages.begin(), stages.end(), stage);
  ESP_CHECK(at != stages.end(), "a parameter for stage ", stage, ", which has not its role");
  return static_cast<size_t>(at - stages.begin());
}

Argument argument_of(const ComputeDag& dag, int stage) {
  const Tensor& tensor = dag.stage(stage).tensor;
  return {dag.stage(stage).name, tensor->dtype, tensor->shape, dense_strides(tensor->shape), 1,
          tensor->value_range};
}

Error not_bound(const std::vector<Argument>& constants) {
  std::string names;
  for (const Argument& constant : constants) names += (names.empty() ? "" : ", ") + constant.name;
  return make_error(ErrorCode::InvalidArgument, "the kernel's constants (", names,
                    ") have no values; bind() them and run what it returns");
}

}  // namespace

struct Kernel::Code {
  explicit Code(JitCode j) : jit(std::move(j)) {}

  JitCode jit;
  CompileStats stats;
  int threads = 1;
  std::vector<Argument> inputs, constants, outputs;
  std::vector<ParamSource> main_params, pack_params;
  std::vector<int64_t> packed_bytes;
  std::vector<bool> kept;  // constants that the main function reads as they are
  mutable Scratch scratch;
  mutable LazyPool pool;

  int workspace_number() const { return static_cast<int>(main_params.size()); }
  Result<void> add_params(const LoweredFunc& func, const ComputeDag& dag,
                          std::vector<ParamSource>& params);
};

struct Kernel::Binding {
  ArrayArena memory;  // of constants read as they are, and of packed ones
  std::vector<void*> constants, packed;
};

Kernel::Kernel(std::shared_ptr<const Code> code, std::shared_ptr<const Binding> binding)
    : code_(std::move(code)), binding_(std::move(binding)) {}

Result<void> Kernel::Code::add_params(const LoweredFunc& func, const ComputeDag& dag,
                                      std::vector<ParamSource>& params) {
  size_t packed = 0;
  for (const LoweredFunc::Param& param : func.params) {
    if (param.role == Role::Packed) {
      const int64_t bytes = param.buffer->bytes();
      if (packed == packed_bytes.size()) packed_bytes.push_back(bytes);
      ESP_CHECK(packed_bytes[packed] == bytes, "the two functions disagree on a packed constant");
      params.push_back({Role::Packed, packed++});
      continue;
    }
    const bool is_input = param.role == Role::Input, is_output = param.role == Role::Output;
    const size_t index = position(is_input    ? dag.inputs()
                                  : is_output ? dag.outputs()
                                              : dag.constants(),
                                  param.stage);
    Argument& argument = (is_input ? inputs : is_output ? outputs : constants)[index];
    ESP_CHECK(argument.dtype == param.buffer->dtype && argument.shape == param.buffer->shape,
              "parameter '", param.buffer->name, "' differs from its stage");
    if (param.role == Role::Constant && param.buffer->strides != argument.strides) {
      return make_error(ErrorCode::Unsupported, "constant '", argument.name, "' with strides");
    }
    argument.strides = param.buffer->strides;
    argument.alignment = std::max(argument.alignment, param.buffer->alignment);
    params.push_back({param.role, index});
  }
  return {};
}

Result<Kernel> compile(const LoweredKernel& lowered, const ComputeDag& dag, const Target& target) {
  CompileStats stats;
  ESP_TRY(JitCode jit, JitCode::compile(lowered, target, &stats));
  auto code = std::make_shared<Kernel::Code>(std::move(jit));
  code->stats = stats;
  code->threads = lowered.main.threads;
  for (const int stage : dag.inputs()) code->inputs.push_back(argument_of(dag, stage));
  for (const int stage : dag.constants()) code->constants.push_back(argument_of(dag, stage));
  for (const int stage : dag.outputs()) code->outputs.push_back(argument_of(dag, stage));
  ESP_TRY_VOID(code->add_params(lowered.main, dag, code->main_params));
  if (code->jit.pack() != nullptr) {
    ESP_TRY_VOID(code->add_params(lowered.pack, dag, code->pack_params));
  }
  code->kept.assign(code->constants.size(), false);
  for (const ParamSource& param : code->main_params) {
    if (param.role == Role::Constant) code->kept[param.index] = true;
  }
  return Kernel(std::move(code), nullptr);
}

Result<Kernel> compile(const State& state) {
  ESP_TRY(const LoweredKernel lowered, lower(state));
  return compile(lowered, state.dag(), state.task().target);
}

bool Kernel::bound() const { return binding_ != nullptr || code_->constants.empty(); }

Result<Kernel> Kernel::bind(std::span<const ArrayView> constants) const {
  const Code& code = *code_;
  ESP_TRY_VOID(check_arrays("constant", code.constants, constants));
  ESP_TRY_VOID(check_value_ranges("constant", code.constants, constants));

  std::vector<int64_t> bytes = code.packed_bytes;
  for (size_t k = 0; k < constants.size(); ++k) {
    bytes.push_back(code.kept[k] ? constants[k].elements() * bytes_of(constants[k].dtype) : 0);
  }
  auto binding = std::make_shared<Binding>();
  const size_t arrays = code.inputs.size() + code.outputs.size();
  ESP_TRY(binding->memory, ArrayArena::make(bytes, static_cast<int>(arrays)));
  for (size_t k = 0; k < bytes.size(); ++k) {
    void* at = binding->memory[static_cast<int>(k)];
    if (k < code.packed_bytes.size()) {
      // What packing leaves out must not be read: NaN shows it if it is.
      memset(at, 0xff, static_cast<size_t>(bytes[k]));
      binding->packed.push_back(at);
      continue;
    }
    const size_t constant = k - code.packed_bytes.size();
    if (bytes[k] > 0) memcpy(at, constants[constant].data, static_cast<size_t>(bytes[k]));
    binding->constants.push_back(at);
  }

  if (code.jit.pack() != nullptr) {
    std::vector<void*> params;
    for (const ParamSource& param : code.pack_params) {
      params.push_back(param.role == Role::Packed ? binding->packed[param.index]
                                                  : constants[param.index].data);
    }
    ESP_TRY(ArrayArena scratch,
            code.scratch.take(code.jit.workspace_bytes(), code.workspace_number()));
    const int32_t status = code.jit.pack()(params.data(), scratch[0], nullptr);
    ESP_CHECK(status == ESPALIER_OK, "packing returned ", status);
    code.scratch.put_back(std::move(scratch));
  }
  return Kernel(code_, std::move(binding));
}

Result<std::vector<void*>> Kernel::arguments(std::span<const ArrayView> inputs,
                                             std::span<const ArrayView> outputs) const {
  const Code& code = *code_;
  if (!bound()) return not_bound(code.constants);
  ESP_TRY_VOID(check_arrays("input", code.inputs, inputs));
  ESP_TRY_VOID(check_arrays("output", code.outputs, outputs));
  ESP_TRY_VOID(check_aliasing(code.inputs, inputs, code.outputs, outputs));
  ESP_TRY_VOID(check_value_ranges("input", code.inputs, inputs));
  std::vector<void*> params;
  params.reserve(code.main_params.size());
  for (const ParamSource& param : code.main_params) {
    switch (param.role) {
      case Role::Input: params.push_back(inputs[param.index].data); break;
      case Role::Output: params.push_back(outputs[param.index].data); break;
      case Role::Constant: params.push_back(binding_->constants[param.index]); break;
      case Role::Packed: params.push_back(binding_->packed[param.index]); break;
    }
  }
  return params;
}

int32_t Kernel::call(void* const* arguments, void* workspace, espalier_context* context) const {
  return code_->jit.main()(arguments, workspace, context);
}

Result<void> Kernel::run(std::span<const ArrayView> inputs, std::span<const ArrayView> outputs,
                         const RunOptions& options) const {
  const Code& code = *code_;
  ESP_TRY(const std::vector<void*> params, arguments(inputs, outputs));

  if (options.threads < 0 || options.threads > code.threads) {
    return make_error(ErrorCode::InvalidArgument, "the kernel was compiled for ", code.threads,
                      " threads and cannot run on ", options.threads);
  }
  espalier_context own = {};
  espalier_context* context = options.context;
  if (context == nullptr && code.threads > 1 && options.threads != 1) {
    ESP_TRY(own, code.pool.context(code.threads, options.threads));
    context = &own;
  }

  const int64_t needed = workspace_bytes();
  std::byte* workspace = options.workspace.data();
  std::optional<ArrayArena> scratch;
  if (workspace == nullptr) {
    ESP_TRY(scratch, code.scratch.take(needed, code.workspace_number()));
    workspace = (*scratch)[0];
  } else if (static_cast<int64_t>(options.workspace.size()) < needed ||
             reinterpret_cast<uintptr_t>(workspace) % 64 != 0) {
    return make_error(
        ErrorCode::InvalidArgument, "the workspace has ", options.workspace.size(),
        " bytes at an address that is a multiple of ",
        reinterpret_cast<uintptr_t>(workspace) & -reinterpret_cast<uintptr_t>(workspace), "; ",
        needed, " bytes aligned to 64 are needed");
  }

  const int32_t status = call(params.data(), workspace, context);
  if (scratch) code.scratch.put_back(*std::move(scratch));
  if (status == ESPALIER_OK) return {};
  if (status == ESPALIER_ERROR_SLOTS) {
    return make_error(ErrorCode::InvalidArgument, "the context has ", context->slots,
                      " slots and the kernel was compiled for ", code.threads);
  }
  return make_error(ErrorCode::InvalidArgument, "the context's parallel_for returned ", status);
}

Result<void> Kernel::run(const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                         const RunOptions& options) const {
  const std::vector<ArrayView> in(inputs.begin(), inputs.end());
  const std::vector<ArrayView> out(outputs.begin(), outputs.end());
  return run(in, out, options);
}

int64_t Kernel::workspace_bytes() const { return code_->jit.workspace_bytes(); }
int Kernel::threads() const { return code_->threads; }
const CompileStats& Kernel::stats() const { return code_->stats; }
const LoweredKernel& Kernel::lowered() const { return code_->jit.final(); }

std::vector<Array> Kernel::make_outputs() const {
  std::vector<Array> outputs;
  for (const Argument& output : code_->outputs) outputs.emplace_back(output.dtype, output.shape);
  return outputs;
}

}  // namespace espalier
