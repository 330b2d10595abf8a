#include "evaluation_run.h"

#include <cstring>
#include <map>

#include "espalier/runtime/guarded_buffer.h"
#include "espalier/support/check.h"

namespace espalier {
namespace {

using Role = LoweredFunc::Role;

struct Memory {
  std::vector<GuardedBuffer> buffers;
  std::vector<std::string> names;
  std::vector<size_t> packed;     // of the pack function's Packed params, in order
  std::map<int, size_t> outputs;  // by stage
  std::map<int, const Array*> arguments;

  Result<size_t> add(const Buffer& b) {
    ESP_TRY(GuardedBuffer memory, GuardedBuffer::make(b->bytes(), b->alignment));
    memory.fill(std::byte{0xff});
    buffers.push_back(std::move(memory));
    names.push_back(b->name);
    return buffers.size() - 1;
  }

  Result<std::vector<void*>> bind(const LoweredFunc& f, bool packing) {
    std::vector<void*> params;
    size_t next_packed = 0;
    for (const LoweredFunc::Param& p : f.params) {
      if (p.role == Role::Packed && !packing) {
        ESP_CHECK(next_packed < packed.size(), "main has a packed constant that pack has not");
        params.push_back(buffers[packed[next_packed++]].data());
        continue;
      }
      ESP_TRY(const size_t at, add(p.buffer));
      if (p.role == Role::Packed) packed.push_back(at);
      if (p.role == Role::Output) outputs[p.stage] = at;
      if (p.role == Role::Input || p.role == Role::Constant) {
        const Array& a = *arguments.at(p.stage);
        ESP_CHECK(a.bytes() == p.buffer->bytes(), p.buffer->name, " has ", p.buffer->bytes(),
                  " bytes, its array ", a.bytes());
        if (a.bytes() > 0) {
          std::memcpy(buffers[at].data(), a.data(), static_cast<size_t>(a.bytes()));
        }
        ESP_TRY_VOID(buffers[at].make_read_only());
      }
      params.push_back(buffers[at].data());
    }
    return params;
  }

  Result<void> check_margins() const {
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (const auto at = buffers[i].stray_write()) {
        return make_error(ErrorCode::Internal, "a write at byte ", *at, " of '", names[i],
                          "', which has ", buffers[i].bytes());
      }
    }
    return {};
  }
};

}  // namespace

Result<std::vector<Array>> run_kernel(const LoweredKernel& kernel, const ComputeDag& dag,
                                      const std::vector<Array>& arguments, const Call& call) {
  Memory memory;
  size_t next = 0;
  for (int s : dag.inputs()) memory.arguments[s] = &arguments[next++];
  for (int s : dag.constants()) memory.arguments[s] = &arguments[next++];
  ESP_TRY(const std::vector<void*> pack_params, memory.bind(kernel.pack, true));
  if (!pack_params.empty()) ESP_TRY_VOID(call(kernel.pack, pack_params));
  ESP_TRY(const std::vector<void*> params, memory.bind(kernel.main, false));
  ESP_TRY_VOID(call(kernel.main, params));
  ESP_TRY_VOID(memory.check_margins());
  std::vector<Array> results;
  for (int s : dag.outputs()) {
    const TensorNode& tensor = *dag.stage(s).tensor;
    Array a(tensor.dtype, tensor.shape);
    const GuardedBuffer& from = memory.buffers[memory.outputs.at(s)];
    if (a.bytes() > 0) std::memcpy(a.data(), from.data(), static_cast<size_t>(a.bytes()));
    results.push_back(std::move(a));
  }
  return results;
}

}  // namespace espalier
