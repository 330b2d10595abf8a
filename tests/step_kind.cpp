#include "step_kind.h"

#include <algorithm>

namespace espalier {
namespace {

constexpr int kAnnotate = 3;
static_assert(std::is_same_v<std::variant_alternative_t<kAnnotate, Step>, AnnotateStep>);

constexpr std::string_view kNames[] = {
    SplitStep::kName,       FuseStep::kName,         ReorderStep::kName,   ComputeAtStep::kName,
    ComputeRootStep::kName, ComputeAfterStep::kName, StoreAtStep::kName,   ShareStep::kName,
    InlineStep::kName,      CacheWriteStep::kName,   CacheReadStep::kName, PackConstantStep::kName,
    RfactorStep::kName,     PadStep::kName};
constexpr int kPlain = static_cast<int>(std::size(kNames));

const Loop& loop_of(const Stage& stage, LoopId l) { return stage.loops[static_cast<size_t>(l)]; }

bool divides(const Stage& stage, const Relation& split) {
  int64_t n = 1;
  for (LoopId part : split.parts) n *= loop_of(stage, part).extent;
  return n == loop_of(stage, split.whole).extent;
}

// Whether iterations of the loop are cut short by some split that it comes from.
bool cut(const Stage& stage, LoopId l) {
  while (loop_of(stage, l).origin >= 0) {
    const Relation& r = stage.relations[static_cast<size_t>(loop_of(stage, l).origin)];
    if (r.is_fuse) {
      return std::any_of(r.parts.begin(), r.parts.end(), [&](LoopId p) { return cut(stage, p); });
    }
    if (!divides(stage, r)) return true;
    l = r.whole;
  }
  return false;
}

// The root stage of the nest.
StageId nest_of(const State& state, StageId s) {
  while (state.stage(s).attach != AttachKind::Root) {
    if (state.stage(s).attach != AttachKind::Inlined) {
      s = state.stage(s).attach_stage;
      continue;
    }
    // A stage that reads it according to the definition, itself inlined or not.
    const std::vector<int>& consumers = state.dag().stage(state.stage(s).op).consumers;
    s = static_cast<StageId>(consumers.front());
  }
  return s;
}

}  // namespace

int kind_of(const Step& step) {
  if (const auto* a = std::get_if<AnnotateStep>(&step)) {
    return kPlain + static_cast<int>(a->annotation);
  }
  const int i = static_cast<int>(step.index());
  return i > kAnnotate ? i - 1 : i;
}

std::string_view step_kind_name(int kind) {
  return kind < kPlain ? kNames[kind] : name_of(kAnnotations[kind - kPlain]);
}

std::vector<StageId> stages_around(const State& state, StageId about) {
  std::vector<StageId> computed, roots;
  for (StageId s = 0; s < state.size(); ++s) {
    const Stage& stage = state.stage(s);
    if (stage.role == StageRole::Input || stage.attach == AttachKind::Inlined) continue;
    computed.push_back(s);
    if (stage.op == state.stage(about).op) roots.push_back(nest_of(state, s));
  }
  roots.push_back(nest_of(state, about));
  std::erase_if(computed, [&](StageId s) {
    return std::find(roots.begin(), roots.end(), nest_of(state, s)) == roots.end();
  });
  return computed;
}

uint8_t tails_of(const State& state, const std::vector<StageId>& stages) {
  uint8_t tails = 0;
  auto add = [&](TailKind t) { tails |= static_cast<uint8_t>(1 << static_cast<int>(t)); };
  for (StageId s : stages) {
    const Stage& stage = state.stage(s);
    const StageInfo& info = state.dag().stage(stage.op);
    for (const Relation& r : stage.relations) {
      if (!r.is_fuse && !divides(stage, r)) add(TailKind::Split);
    }
    const bool has_terms = stage.role == StageRole::Compute ||
                           stage.role == StageRole::Accumulate || stage.role == StageRole::Partial;
    if (has_terms && info.reduce() != nullptr && info.reduce()->where) add(TailKind::Where);
    const int lanes = std::max(1, state.task().target.lanes(bytes_of(info.tensor->dtype)));
    for (LoopId l : stage.order) {
      const Loop& loop = loop_of(stage, l);
      if (!loop.vectorize) continue;
      const bool one_vector = loop.extent < lanes && (loop.extent & (loop.extent - 1)) == 0;
      const bool whole = loop.extent % lanes == 0 || one_vector;
      if (!whole || cut(stage, l)) add(TailKind::Vector);
    }
  }
  if (tails == 0) add(TailKind::None);
  return tails;
}

}  // namespace espalier
