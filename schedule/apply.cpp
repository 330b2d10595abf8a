#include "espalier/schedule/apply.h"

#include <algorithm>

namespace espalier {

namespace {

// Stages that steps add to those of the DAG: StageId has 16 bits.
constexpr int kMaxAdded = 1024;

}  // namespace

StepApplier::Outcome StepApplier::apply(const Step& step) {
  const int added = state_.size() - state_.dag().size();
  if (added >= kMaxAdded) {
    return reject(RejectionCode::TooManyStages, 0, kNoLoop, added, kMaxAdded);
  }
  return std::visit([this](const auto& s) { return on(s); }, step);
}

int StepApplier::position(const Stage& stage, LoopId l) {
  auto it = std::find(stage.order.begin(), stage.order.end(), l);
  return it == stage.order.end() ? -1 : static_cast<int>(it - stage.order.begin());
}

StepApplier::Outcome StepApplier::check_stage(StageId s) const {
  if (s < 0 || s >= state_.size()) return reject(RejectionCode::NoSuchStage, s);
  const Stage& st = stage(s);
  if (st.role == StageRole::Input || st.attach == AttachKind::Inlined) {
    return reject(RejectionCode::NoSuchStage, s);
  }
  return std::nullopt;
}

StepApplier::Outcome StepApplier::check_leaf(StageId s, LoopId l) const {
  if (Outcome r = check_stage(s)) return r;
  const Stage& st = stage(s);
  if (l < 0 || static_cast<size_t>(l) >= st.loops.size()) {
    return reject(RejectionCode::NoSuchLoop, s, l);
  }
  if (position(st, l) < 0) return reject(RejectionCode::LoopNotLeaf, s, l);
  return std::nullopt;
}

// Stages attach inside loops that stay loops: lanes have no inside.
StepApplier::Outcome StepApplier::check_attach_loop(StageId s, LoopId l) const {
  if (Outcome r = check_leaf(s, l)) return r;
  const Stage& st = stage(s);
  for (int i = 0; i <= position(st, l); ++i) {
    if (loop(st, st.order[static_cast<size_t>(i)]).vectorize) {
      return reject(RejectionCode::NotAttachable, s, st.order[static_cast<size_t>(i)]);
    }
  }
  return std::nullopt;
}

bool StepApplier::reorderable(const Stage& st) const {
  const ReduceNode* reduce = state_.dag().stage(st.op).reduce();
  return reduce == nullptr || reduce->combiner.reorderable;
}

bool StepApplier::unscheduled(StageId s) const {
  const Stage& st = stage(s);
  if (st.attach != AttachKind::Root || attached_anywhere(s)) return false;
  if (st.role != StageRole::Compute && st.role != StageRole::Partial) return false;
  if (!st.stored_at_root || st.shares >= 0) return false;
  if (has_copies(st) || shared(s)) return false;
  int next = 0;
  for (LoopId l : st.order) {
    const Loop& lp = loop(st, l);
    if (lp.parallel || lp.vectorize || lp.unroll || lp.partition || lp.prefetch != 0) return false;
    if (st.role == StageRole::Compute && !lp.reduce && l != next++) return false;
  }
  for (int a = 0; a < st.spatial_axes; ++a) {
    const Loop& lp = loop(st, static_cast<LoopId>(a));
    if (lp.state != LoopState::Leaf ||
        lp.extent != state_.dag().stage(st.op).axes[static_cast<size_t>(a)].extent) {
      return false;
    }
  }
  return true;
}

// Copies are made for the loops as they are.
bool StepApplier::has_copies(const Stage& st) {
  return std::any_of(st.reads.begin(), st.reads.end(),
                     [](const StageRead& r) { return r.kind == StageRead::Kind::Packed; });
}

bool StepApplier::shared(StageId s) const {
  for (StageId t = 0; t < state_.size(); ++t) {
    if (stage(t).shares == s) return true;
  }
  return false;
}

bool StepApplier::attached_at(StageId s, LoopId l) const {
  for (StageId t = 0; t < state_.size(); ++t) {
    const Stage& st = stage(t);
    const bool attached = st.attach == AttachKind::At || st.attach == AttachKind::After;
    if (attached && st.attach_stage == s && st.attach_loop == l) return true;
    if (!st.stored_at_root && st.store_stage == s && st.store_loop == l) return true;
  }
  return false;
}

bool StepApplier::attached_anywhere(StageId s) const {
  for (StageId t = 0; t < state_.size(); ++t) {
    const Stage& st = stage(t);
    if ((st.attach == AttachKind::At || st.attach == AttachKind::After) && st.attach_stage == s) {
      return true;
    }
    if (!st.stored_at_root && st.store_stage == s) return true;
  }
  return false;
}

bool StepApplier::inside(StageId s, StageId target, LoopId l) const {
  if (s == target) return true;
  const int limit = position(stage(target), l);
  while (s >= 0) {
    const Stage& st = stage(s);
    if (st.attach != AttachKind::At && st.attach != AttachKind::After) return false;
    if (st.attach_stage == target) return position(stage(target), st.attach_loop) >= limit;
    s = st.attach_stage;
  }
  return false;
}

StageId StepApplier::root_of(StageId s) const {
  while (stage(s).attach == AttachKind::At || stage(s).attach == AttachKind::After) {
    s = stage(s).attach_stage;
  }
  return s;
}

bool StepApplier::runs_before(StageId s, StageId nest) const {
  if (stage(s).role == StageRole::Input) return true;
  for (StageId t : state_.execution_order()) {
    if (t == nest) return false;
    if (t == s) return true;
  }
  return false;
}

bool StepApplier::sources_ready(StageId s, StageId nest, LoopId after) const {
  for (const StageRead& r : stage(s).reads) {
    const Stage& source = stage(r.source);
    if (source.role == StageRole::Pack || r.source == nest) continue;
    if (source.attach == AttachKind::At) continue;  // around all its readers
    const StageId home = root_of(r.source);
    if (home != root_of(nest) || source.attach == AttachKind::Root) {
      if (!runs_before(home, root_of(nest))) return false;
      continue;
    }
    // Both wait for the same stage: the reader at the same loop, or one further out.
    const bool waits = after != kNoLoop && source.attach_stage == nest &&
                       position(stage(nest), after) <= position(stage(nest), source.attach_loop);
    if (!waits) return false;
  }
  return true;
}

Stage& StepApplier::edit(StageId s) {
  std::shared_ptr<Stage>& p = state_.stages_[static_cast<size_t>(s)];
  if (p.use_count() != 1) p = std::make_shared<Stage>(*p);
  return *p;
}

StageId StepApplier::add_stage(std::shared_ptr<Stage> st, StageId before) {
  const StageId id = static_cast<StageId>(state_.stages_.size());
  state_.stages_.push_back(std::move(st));
  auto it = std::find(state_.order_.begin(), state_.order_.end(), before);
  state_.order_.insert(it, id);
  return id;
}

}  // namespace espalier
