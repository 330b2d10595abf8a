#include "espalier/schedule/lower.h"

#include <algorithm>

#include "espalier/ir/mutate.h"
#include "espalier/schedule/lower_context.h"
#include "espalier/schedule/tails.h"

namespace espalier {
namespace {

constexpr double kMaxCodeSize = 100000;  // instructions, roughly: seconds of compile time

bool reads_buffer(const Stmt& s, const Buffer& b) {
  bool found = false;
  visit(
      s,
      [&](const Stmt& c) {
        const PrefetchNode* hint = c.as<PrefetchNode>();
        if (hint != nullptr && hint->buffer.get() == b.get()) found = true;
        return !found;
      },
      [&](const Expr& e) {
        const LoadNode* load = e.as<LoadNode>();
        if (load != nullptr && load->buffer.get() == b.get()) found = true;
        return !found;
      });
  return found;
}

// Buffers that live outside all loops, each with the position in execution order of the first nest
// that touches it.
std::vector<std::pair<Buffer, size_t>> root_buffers(const State& state, LowerContext& context) {
  const std::vector<StageId>& order = state.execution_order();
  std::vector<std::pair<Buffer, size_t>> homes;
  for (StageId s : order) {
    const Stage& stage = state.stage(s);
    if (stage.role == StageRole::Input || stage.attach == AttachKind::Inlined ||
        !stage.stored_at_root) {
      continue;
    }
    const Buffer buffer = context.buffer(s);
    if (buffer->scope == BufferScope::Param) continue;
    StageId nest = s;
    while (state.stage(nest).attach != AttachKind::Root) nest = state.stage(nest).attach_stage;
    const size_t home =
        static_cast<size_t>(std::find(order.begin(), order.end(), nest) - order.begin());
    auto known = std::find_if(homes.begin(), homes.end(),
                              [&](const auto& h) { return h.first.get() == buffer.get(); });
    if (known == homes.end()) {
      homes.emplace_back(buffer, home);
    } else {
      known->second = std::min(known->second, home);
    }
  }
  return homes;
}

}  // namespace

Result<LoweredKernel> lower(const State& state) {
  if (const double size = code_size(state); size > kMaxCodeSize) {
    return make_error(ErrorCode::Resource, "the schedule would become about ",
                      static_cast<int64_t>(size), " instructions, and at most ",
                      static_cast<int64_t>(kMaxCodeSize), " are compiled: unroll less");
  }
  LowerContext context(state);
  const ComputeDag& dag = state.dag();

  // Root stages in order; a buffer between them lives from the first stage that writes it to the
  // end.
  Stmt main = make_block({}), pack = make_block({});
  const std::vector<StageId>& order = state.execution_order();
  const auto homes = root_buffers(state, context);
  for (size_t i = order.size(); i-- > 0;) {
    const StageId s = order[i];
    const Stage& stage = state.stage(s);
    if (stage.role == StageRole::Input || stage.attach == AttachKind::Inlined) continue;
    if (stage.role == StageRole::Pack) {
      pack = make_block({lower_nest(context, s), pack});
      continue;
    }
    if (stage.attach == AttachKind::Root) main = make_block({lower_nest(context, s), main});
    for (const auto& [buffer, home] : homes) {
      if (home == i) main = make_allocate(buffer, main);
    }
  }
  auto finish = [](const Stmt& body) { return resolve_tails(simplify(body)); };

  LoweredKernel kernel;
  kernel.main.name = "main";
  kernel.main.body = finish(main);
  kernel.main.threads = kernel.pack.threads = state.task().threads;
  kernel.pack.name = "pack";
  kernel.pack.body = finish(pack);
  using Role = LoweredFunc::Role;
  for (int i : dag.inputs()) {
    kernel.main.params.push_back({context.buffer(static_cast<StageId>(i)), Role::Input, i});
  }
  for (int i : dag.constants()) {
    const Buffer b = context.buffer(static_cast<StageId>(i));
    if (reads_buffer(kernel.main.body, b)) kernel.main.params.push_back({b, Role::Constant, i});
    if (reads_buffer(kernel.pack.body, b)) kernel.pack.params.push_back({b, Role::Constant, i});
  }
  for (StageId s : order) {
    const Stage& stage = state.stage(s);
    if (stage.role != StageRole::Pack) continue;
    const LoweredFunc::Param param{context.buffer(s), Role::Packed, stage.reads[0].producer};
    kernel.main.params.push_back(param);
    kernel.pack.params.push_back(param);
  }
  for (int i : dag.outputs()) {
    kernel.main.params.push_back({context.buffer(static_cast<StageId>(i)), Role::Output, i});
  }
  return kernel;
}

}  // namespace espalier
