// cache_write and rfactor: a reduction in two stages.
#include <algorithm>

#include "espalier/schedule/apply.h"

namespace espalier {

// Stages attached at a moved loop follow it. A bound loop of any stage is known in `to` as well,
// with the same value, and only there once it has moved.
void StepApplier::rebind(StageId from, StageId to, std::span<const LoopId> moved) {
  auto follows = [&](LoopId l) { return std::find(moved.begin(), moved.end(), l) != moved.end(); };
  for (StageId t = 0; t < state_.size(); ++t) {
    if (t == to || t == from) continue;
    const Stage& st = stage(t);
    const bool attached = (st.attach == AttachKind::At || st.attach == AttachKind::After) &&
                          st.attach_stage == from && follows(st.attach_loop);
    const bool stored = !st.stored_at_root && st.store_stage == from && follows(st.store_loop);
    const bool bound = std::any_of(st.loops.begin(), st.loops.end(), [&](const Loop& l) {
      return l.state == LoopState::Bound && l.bound_stage == from;
    });
    if (!attached && !stored && !bound) continue;
    Stage& changed = edit(t);
    if (attached) changed.attach_stage = to;
    if (stored) changed.store_stage = to;
    for (Loop& l : changed.loops) {
      if (l.state == LoopState::Bound && l.bound_stage == from) l.bound_stage = to;
    }
  }
}

namespace {

void clear_annotations(Loop& l) {
  l.parallel = l.vectorize = l.unroll = l.partition = false;
  l.prefetch = 0;
}

// `old` is known from a fresh loop that stands for it; returns the fresh loop's id.
LoopId replace_by_fresh(Stage& st, LoopId old) {
  Loop fresh;
  fresh.extent = st.loops[static_cast<size_t>(old)].extent;
  fresh.reduce = st.loops[static_cast<size_t>(old)].reduce;
  fresh.copy_of = old;
  fresh.origin = static_cast<int16_t>(st.relations.size());
  const LoopId id = static_cast<LoopId>(st.loops.size());
  Loop& l = st.loops[static_cast<size_t>(old)];
  clear_annotations(l);
  l.state = LoopState::Split;
  l.relation = fresh.origin;
  st.relations.push_back({false, old, {id}});
  st.loops.push_back(fresh);
  return id;
}

// The loop is one that rfactor made spatial, or was split or fused from such loops.
bool is_factored(const Stage& st, LoopId l) {
  if (l >= st.spatial_axes && std::count(st.storage.begin(), st.storage.end(), l) > 0) return true;
  const int16_t origin = st.loops[static_cast<size_t>(l)].origin;
  if (origin < 0) return false;
  const Relation& rel = st.relations[static_cast<size_t>(origin)];
  if (!rel.is_fuse) return is_factored(st, rel.whole);
  return std::any_of(rel.parts.begin(), rel.parts.end(),
                     [&](LoopId part) { return is_factored(st, part); });
}

}  // namespace

StepApplier::Outcome StepApplier::on(const CacheWriteStep& step) {
  if (Outcome r = check_stage(step.stage)) return r;
  if (step.loop != kNoLoop) {
    if (Outcome r = check_attach_loop(step.stage, step.loop)) return r;
  }
  const Stage& before = stage(step.stage);
  const bool computed = before.role == StageRole::Compute || before.role == StageRole::Partial;
  if (!computed || before.attach == AttachKind::After || before.registers || before.shares >= 0) {
    return reject(RejectionCode::NotAccumulating, step.stage);
  }
  if (!before.stored_at_root && before.store_stage == step.stage) {
    return reject(RejectionCode::NotAccumulating, step.stage);
  }
  const size_t keep =
      step.loop == kNoLoop ? 0 : static_cast<size_t>(position(before, step.loop)) + 1;
  for (size_t i = 0; i < before.order.size(); ++i) {
    const Loop& l = loop(before, before.order[i]);
    if (i < keep && l.reduce && !reorderable(before)) {
      return reject(RejectionCode::NotReorderable, step.stage, before.order[i]);
    }
    if (i >= keep && l.parallel) {
      return reject(RejectionCode::AlreadyAnnotated, step.stage, before.order[i]);
    }
    // Partial results are told apart by loops that stay.
    if (i >= keep && before.partial && !l.reduce && is_factored(before, before.order[i])) {
      return reject(RejectionCode::NotAccumulating, step.stage, before.order[i]);
    }
    // A consumer that waits for this stage's loops cannot move into the accumulator.
    if (i >= keep) {
      for (StageId t = 0; t < state_.size(); ++t) {
        if (stage(t).attach == AttachKind::After && stage(t).attach_stage == step.stage &&
            stage(t).attach_loop == before.order[i]) {
          return reject(RejectionCode::AttachedHere, step.stage, before.order[i]);
        }
      }
    }
  }

  auto accumulator = std::make_shared<Stage>(before);
  accumulator->role = StageRole::Accumulate;
  accumulator->partial = false;
  accumulator->attach =
      step.loop == kNoLoop && before.attach == AttachKind::Root ? AttachKind::Root : AttachKind::At;
  accumulator->attach_stage = step.loop == kNoLoop ? before.attach_stage : step.stage;
  accumulator->attach_loop = step.loop == kNoLoop ? before.attach_loop : step.loop;
  accumulator->stored_at_root = accumulator->attach == AttachKind::Root;
  accumulator->store_stage = accumulator->attach_stage;
  accumulator->store_loop = accumulator->attach_loop;
  accumulator->order.assign(before.order.begin() + static_cast<std::ptrdiff_t>(keep),
                            before.order.end());
  accumulator->storage.clear();
  accumulator->storage_extent.clear();
  accumulator->non_temporal = false;
  for (size_t i = 0; i < before.order.size(); ++i) {
    const LoopId l = before.order[i];
    Loop& lp = accumulator->loops[static_cast<size_t>(l)];
    if (i < keep) {
      clear_annotations(lp);
      lp.state = LoopState::Bound;
      lp.bound_stage = step.stage;
      lp.bound_loop = l;
    } else if (!lp.reduce) {
      accumulator->storage.push_back(l);
      accumulator->storage_extent.push_back(lp.extent);
    }
  }

  const std::vector<LoopId> moved = accumulator->order;
  const StageId acc = add_stage(std::move(accumulator), step.stage);
  Stage& st = edit(step.stage);
  st.role = StageRole::WriteBack;
  st.order.resize(keep);
  for (LoopId l : moved) {
    if (loop(st, l).reduce) {
      clear_annotations(st.loops[static_cast<size_t>(l)]);
      st.loops[static_cast<size_t>(l)].state = LoopState::Absent;
    } else {
      st.order.push_back(replace_by_fresh(st, l));
    }
  }
  StageRead read;
  read.kind = StageRead::Kind::Loops;
  read.source = acc;
  st.reads.assign(1, read);
  rebind(step.stage, acc, moved);
  return std::nullopt;
}

StepApplier::Outcome StepApplier::on(const RfactorStep& step) {
  if (Outcome r = check_stage(step.stage)) return r;
  const Stage& before = stage(step.stage);
  if (state_.dag().stage(before.op).reduce() == nullptr || step.loops.empty()) {
    return reject(RejectionCode::NotReduction, step.stage);
  }
  if (!reorderable(before)) return reject(RejectionCode::NotReorderable, step.stage);
  if (before.role != StageRole::Compute || before.registers || before.shares >= 0 ||
      before.attach == AttachKind::After ||
      (!before.stored_at_root && before.store_stage == step.stage)) {
    return reject(RejectionCode::NotAccumulating, step.stage);
  }
  // The partial results are found by whole axes of an attached stage.
  for (int a = 0; a < before.spatial_axes; ++a) {
    if (before.attach != AttachKind::Root &&
        loop(before, static_cast<LoopId>(a)).state != LoopState::Leaf) {
      return reject(RejectionCode::NotAttachable, step.stage, static_cast<LoopId>(a));
    }
  }
  for (size_t i = 0; i < step.loops.size(); ++i) {
    const LoopId l = step.loops[i];
    if (Outcome r = check_leaf(step.stage, l)) return r;
    if (!loop(before, l).reduce) return reject(RejectionCode::NotReduction, step.stage, l);
    if (std::count(step.loops.begin(), step.loops.end(), l) != 1) {
      return reject(RejectionCode::LoopNotLeaf, step.stage, l);
    }
  }
  for (StageId t = 0; t < state_.size(); ++t) {
    if (stage(t).attach == AttachKind::After && stage(t).attach_stage == step.stage) {
      return reject(RejectionCode::AttachedHere, step.stage, stage(t).attach_loop);
    }
  }

  auto partial = std::make_shared<Stage>(before);
  partial->role = StageRole::Partial;
  partial->partial = true;
  for (LoopId l : step.loops) {
    partial->loops[static_cast<size_t>(l)].reduce = false;
    partial->storage.push_back(l);
    partial->storage_extent.push_back(partial->loops[static_cast<size_t>(l)].extent);
  }
  const std::vector<LoopId> old_order = before.order;
  const StageId part = add_stage(std::move(partial), step.stage);
  if (stage(part).base_stage == step.stage) edit(part).base_stage = part;
  Stage& st = edit(step.stage);
  st.role = StageRole::Final;
  st.order.clear();
  st.non_temporal = before.non_temporal;
  for (int a = 0; a < st.spatial_axes; ++a) {
    st.order.push_back(replace_by_fresh(st, static_cast<LoopId>(a)));
  }
  for (LoopId l : old_order) {
    if (l < st.spatial_axes) continue;
    clear_annotations(st.loops[static_cast<size_t>(l)]);
    st.loops[static_cast<size_t>(l)].state = LoopState::Absent;
  }
  for (LoopId l : step.loops) st.order.push_back(replace_by_fresh(st, l));
  StageRead read;
  read.kind = StageRead::Kind::Loops;
  read.source = part;
  st.reads.assign(1, read);
  rebind(step.stage, part, old_order);
  // Copies for what is now the partial stage count from its region.
  for (StageId t = 0; t < state_.size(); ++t) {
    if (!stage(t).layout.empty() && stage(t).base_stage == step.stage) edit(t).base_stage = part;
  }
  return std::nullopt;
}

}  // namespace espalier
