#include "c_header.h"

#include <algorithm>
#include <cctype>

#include "espalier/codegen/pipeline.h"
#include "espalier/codegen/workspace.h"
#include "espalier/runtime/array_view.h"
#include "espalier/support/version.h"

namespace espalier::cli {
namespace {

// As the name of a macro.
std::string upper(std::string text) {
  for (char& c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    c = std::isalnum(byte) ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return text;
}

std::string_view name_of_role(LoweredFunc::Role role) {
  switch (role) {
    case LoweredFunc::Role::Input: return "input";
    case LoweredFunc::Role::Constant: return "constant";
    case LoweredFunc::Role::Packed: return "packed constant";
    case LoweredFunc::Role::Output: return "output";
  }
  ESP_UNREACHABLE();
}

// One line a parameter, in the order of the array of pointers.
std::string describe_params(const LoweredFunc& func) {
  std::string text;
  for (size_t i = 0; i < func.params.size(); ++i) {
    const LoweredFunc::Param& param = func.params[i];
    text += "//   params[" + std::to_string(i) + "]  " + std::string(name_of_role(param.role)) +
            " " + param.buffer->name + ", " + std::string(name_of(param.buffer->dtype)) +
            shape_to_string(param.buffer->shape) + ", " + std::to_string(param.buffer->bytes()) +
            " bytes\n";
  }
  return text;
}

std::string declaration(const std::string& name) {
  return "int32_t " + name + "(void* const* params, void* workspace, espalier_context* ctx);\n";
}

}  // namespace

std::string c_header(const LoweredKernel& lowered, const Task& task, const std::string& symbol) {
  const bool packs = !lowered.pack.params.empty();
  int64_t workspace = 0;
  for (const LoweredFunc* func : {&lowered.main, &lowered.pack}) {
    const LoweredFunc final = run_passes(*func, task.target);
    workspace = std::max(workspace, workspace_size(final.body, final.threads));
  }
  const std::string guard = upper(symbol) + "_H_";
  std::string text = "// Written by espalier " + std::string(version()) + ".\n";
  if (!task.workload.empty()) text += "// " + task.workload + "\n";
  text += "// for " + to_string(task.target) + "\n";
  text += "#ifndef " + guard + "\n#define " + guard + "\n\n";
  text += "#include <stdint.h>\n\n#include <espalier/runtime/rt/espalier_rt.h>\n\n";
  text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  text +=
      "// Scratch memory for a call, aligned to 64 bytes, and the most slots that a context may\n"
      "// have. Two calls at the same time need two workspaces.\n";
  text += "#define " + upper(symbol) + "_WORKSPACE_BYTES " + std::to_string(workspace) + "\n";
  text += "#define " + upper(symbol) + "_SLOTS " + std::to_string(task.threads) + "\n";
  for (const LoweredFunc::Param& param : lowered.main.params) {
    if (param.role != LoweredFunc::Role::Packed) continue;
    text += "#define " + upper(symbol + "_" + param.buffer->name) + "_BYTES " +
            std::to_string(param.buffer->bytes()) + "\n";
  }
  text += "\n";
  text +=
      "// Dense arrays, row-major, aligned to 64 bytes. `ctx` may be null: then one thread does\n"
      "// all. Returns 0, ESPALIER_ERROR_SLOTS or what the context's hook returns.\n";
  text += describe_params(lowered.main) + declaration(symbol);
  if (packs) {
    text += "\n// Lays constants out as the function above reads them. Once is enough.\n";
    text += describe_params(lowered.pack) + declaration(symbol + "_pack");
  }
  text += "\n#ifdef __cplusplus\n}\n#endif\n\n#endif  // " + guard + "\n";
  return text;
}

}  // namespace espalier::cli
