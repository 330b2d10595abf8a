// compute_at, compute_root, compute_after, store_at, share: where a stage runs and keeps its
// values.
#include <algorithm>

#include "espalier/schedule/apply.h"

namespace espalier {
namespace {

bool reads_stage(const Stage& reader, StageId s) {
  return std::any_of(reader.reads.begin(), reader.reads.end(),
                     [&](const StageRead& r) { return r.source == s; });
}

// The read is at the reader's own index in every dimension.
bool own_index(const StageRead& r, size_t axes) {
  if (r.kind != StageRead::Kind::Element || r.linear.size() != axes) return false;
  for (size_t d = 0; d < axes; ++d) {
    const LinearIndex& index = r.linear[d];
    if (!index.affine || index.offset != 0) return false;
    for (size_t a = 0; a < index.coef.size(); ++a) {
      if (index.coef[a] != (a == d ? 1 : 0)) return false;
    }
  }
  return true;
}

// A loop of one stage and the loop of another with the same id come from the axes in the same way.
bool same_origin(const Stage& a, const Stage& b, LoopId l) {
  if (static_cast<size_t>(l) >= b.loops.size()) return false;
  const Loop& x = a.loops[static_cast<size_t>(l)];
  const Loop& y = b.loops[static_cast<size_t>(l)];
  if (x.extent != y.extent || (x.origin < 0) != (y.origin < 0)) return false;
  if (x.origin < 0) return true;
  const Relation& r = a.relations[static_cast<size_t>(x.origin)];
  const Relation& q = b.relations[static_cast<size_t>(y.origin)];
  if (r.is_fuse != q.is_fuse || r.whole != q.whole || r.parts != q.parts) return false;
  if (!r.is_fuse) return same_origin(a, b, r.whole);
  return std::all_of(r.parts.begin(), r.parts.end(),
                     [&](LoopId part) { return same_origin(a, b, part); });
}

// What is stored a loop of `st`, inside the first `at` + 1 ones, is found by the loops of `reader`.
bool same_elements(const Stage& st, const Stage& reader, int at) {
  for (size_t i = static_cast<size_t>(at) + 1; i < st.order.size(); ++i) {
    const LoopId l = st.order[i];
    if (!st.loops[static_cast<size_t>(l)].reduce && !same_origin(st, reader, l)) return false;
  }
  return true;
}

}  // namespace

StepApplier::Outcome StepApplier::on(const ComputeAtStep& step) {
  if (Outcome r = check_stage(step.stage)) return r;
  if (Outcome r = check_attach_loop(step.target, step.loop)) return r;
  if (state_.dag().stage(stage(step.stage).op).is_output &&
      stage(step.stage).role == StageRole::Compute) {
    return reject(RejectionCode::IsOutput, step.stage);
  }
  if (!unscheduled(step.stage)) return reject(RejectionCode::NotAttachable, step.stage);
  bool read = false;
  for (StageId c = 0; c < state_.size(); ++c) {
    const Stage& reader = stage(c);
    if (reader.attach == AttachKind::Inlined || !reads_stage(reader, step.stage)) continue;
    read = true;
    if (c == step.stage || reader.role == StageRole::Pack || !inside(c, step.target, step.loop)) {
      return reject(RejectionCode::NotEnclosing, step.target, step.loop, step.stage, c);
    }
  }
  if (!read) return reject(RejectionCode::NotEnclosing, step.target, step.loop, step.stage, -1);

  if (!sources_ready(step.stage, step.target)) {
    return reject(RejectionCode::NotEnclosing, step.target, step.loop, step.stage, step.target);
  }

  Coordinates coordinates(state_);
  std::vector<int64_t> widths;
  for (int a = 0; a < stage(step.stage).spatial_axes; ++a) {
    widths.push_back(coordinates.region(step.stage, a, {step.target, step.loop}).width);
  }
  Stage& st = edit(step.stage);
  st.attach = AttachKind::At;
  st.attach_stage = st.store_stage = step.target;
  st.attach_loop = st.store_loop = step.loop;
  st.stored_at_root = false;
  for (size_t a = 0; a < widths.size(); ++a) {
    st.loops[a].extent = st.storage_extent[a] = widths[a];
    st.loops[a].region = true;
  }
  return std::nullopt;
}

StepApplier::Outcome StepApplier::on(const ComputeRootStep& step) {
  if (Outcome r = check_stage(step.stage)) return r;
  const Stage& before = stage(step.stage);
  bool whole = before.attach == AttachKind::At && !before.registers && before.store_stage >= 0 &&
               before.base_stage == step.stage && !attached_anywhere(step.stage) &&
               !has_copies(before) &&
               (before.role == StageRole::Compute || before.role == StageRole::Partial);
  for (int a = 0; a < before.spatial_axes; ++a) {
    const Loop& lp = loop(before, static_cast<LoopId>(a));
    whole = whole && lp.state == LoopState::Leaf && !lp.vectorize && !lp.unroll && !lp.parallel;
  }
  // What it reads stays where it is.
  for (const StageRead& r : before.reads) {
    const Stage& source = stage(r.source);
    whole = whole &&
            (source.attach == AttachKind::Root ||
             (source.attach == AttachKind::After && runs_before(root_of(r.source), step.stage)));
  }
  if (!whole) return reject(RejectionCode::NotAttachable, step.stage);
  Stage& st = edit(step.stage);
  st.attach = AttachKind::Root;
  st.attach_stage = st.store_stage = -1;
  st.attach_loop = st.store_loop = kNoLoop;
  st.stored_at_root = true;
  const StageInfo& info = state_.dag().stage(st.op);
  for (int a = 0; a < st.spatial_axes; ++a) {
    const size_t i = static_cast<size_t>(a);
    st.loops[i].extent = st.storage_extent[i] = info.axes[i].extent;
    st.loops[i].region = false;
  }
  return std::nullopt;
}

StepApplier::Outcome StepApplier::on(const ComputeAfterStep& step) {
  if (Outcome r = check_stage(step.stage)) return r;
  if (Outcome r = check_attach_loop(step.target, step.loop)) return r;
  const Stage& reader = stage(step.stage);
  const Stage& done = stage(step.target);
  if (step.stage == step.target || !unscheduled(step.stage)) {
    return reject(RejectionCode::NotAttachable, step.stage);
  }
  if (done.attach != AttachKind::Root ||
      (done.role != StageRole::Compute && done.role != StageRole::WriteBack &&
       done.role != StageRole::Final)) {
    return reject(RejectionCode::NotAttachable, step.target);
  }
  const StageInfo& info = state_.dag().stage(reader.op);
  if (info.reduce() != nullptr || info.tensor->shape != state_.dag().stage(done.op).tensor->shape) {
    return reject(RejectionCode::NotElementwise, step.stage);
  }
  bool reads = false;
  for (const StageRead& r : reader.reads) {
    if (r.source != step.target) continue;
    reads = true;
    if (!own_index(r, info.axes.size())) return reject(RejectionCode::NotElementwise, step.stage);
  }
  if (!reads) return reject(RejectionCode::NotElementwise, step.stage);
  if (!sources_ready(step.stage, step.target, step.loop)) {
    return reject(RejectionCode::NotEnclosing, step.target, step.loop, step.stage, step.target);
  }
  // Reductions outside the loop need partial sums that every iteration writes: a guard inside the
  // stage's own nest could leave the last iteration out.
  const int at = position(done, step.loop);
  for (int i = 0; i <= at; ++i) {
    const LoopId l = done.order[static_cast<size_t>(i)];
    if (loop(done, l).reduce && done.role != StageRole::WriteBack) {
      return reject(RejectionCode::NotAccumulating, step.target, l);
    }
  }
  // Everything that completes a region must lie inside the loop.
  for (size_t i = static_cast<size_t>(at) + 1; i < done.order.size(); ++i) {
    if (loop(done, done.order[i]).parallel) {
      return reject(RejectionCode::NotEnclosing, step.target, done.order[i]);
    }
  }

  std::vector<Loop> loops = done.loops;
  std::vector<LoopId> order;
  for (size_t i = 0; i < done.order.size(); ++i) {
    const LoopId l = done.order[i];
    Loop& lp = loops[static_cast<size_t>(l)];
    lp.parallel = lp.vectorize = lp.unroll = lp.partition = false;
    lp.prefetch = 0;
    if (lp.reduce) {
      lp.state = LoopState::Absent;
    } else if (static_cast<int>(i) <= at) {
      lp.state = LoopState::Bound;
      lp.bound_stage = step.target;
      lp.bound_loop = l;
    } else {
      order.push_back(l);
    }
  }
  const std::vector<Relation> relations = done.relations;
  const StageId base_stage = done.base_stage;
  Stage& st = edit(step.stage);
  st.loops = std::move(loops);
  st.relations = relations;
  st.order = std::move(order);
  st.base_stage = base_stage;
  st.attach = AttachKind::After;
  st.attach_stage = step.target;
  st.attach_loop = step.loop;
  return std::nullopt;
}

StepApplier::Outcome StepApplier::on(const StoreAtStep& step) {
  if (Outcome r = check_stage(step.stage)) return r;
  if (step.loop != kNoLoop) {
    if (Outcome r = check_attach_loop(step.target, step.loop)) return r;
  }
  const Stage& before = stage(step.stage);
  if (before.shares >= 0 || shared(step.stage) || before.registers) {
    return reject(RejectionCode::NotAttachable, step.stage);
  }
  if (before.attach == AttachKind::Root) {
    // The stage's own nest, finished region by region by consumers that run after each.
    if (step.target != step.stage || step.loop == kNoLoop ||
        state_.dag().stage(before.op).is_output) {
      return reject(RejectionCode::NotAttachable, step.stage, step.loop);
    }
    const int at = position(before, step.loop);
    for (int i = 0; i <= at; ++i) {
      const LoopId l = before.order[static_cast<size_t>(i)];
      if (loop(before, l).reduce) return reject(RejectionCode::ReductionLoop, step.stage, l);
    }
    for (StageId c = 0; c < state_.size(); ++c) {
      const Stage& reader = stage(c);
      if (reader.attach == AttachKind::Inlined || !reads_stage(reader, step.stage)) continue;
      if (reader.attach != AttachKind::After || reader.attach_stage != step.stage ||
          reader.attach_loop != step.loop || reader.order.empty() ||
          !same_elements(before, reader, at)) {
        return reject(RejectionCode::NotEnclosing, step.stage, step.loop, step.stage, c);
      }
    }
    Stage& st = edit(step.stage);
    st.stored_at_root = false;
    st.store_stage = step.stage;
    st.store_loop = step.loop;
    st.storage.clear();
    st.storage_extent.clear();
    for (size_t i = static_cast<size_t>(at) + 1; i < st.order.size(); ++i) {
      const LoopId l = st.order[i];
      if (loop(st, l).reduce) continue;
      st.storage.push_back(l);
      st.storage_extent.push_back(loop(st, l).extent);
    }
    for (StageId c = 0; c < state_.size(); ++c) {
      if (!reads_stage(stage(c), step.stage)) continue;
      for (StageRead& r : edit(c).reads) {
        if (r.source == step.stage) r.kind = StageRead::Kind::Loops;
      }
    }
    return std::nullopt;
  }
  if (before.attach != AttachKind::At) return reject(RejectionCode::NotAttachable, step.stage);
  if (step.loop != kNoLoop && !inside(before.attach_stage, step.target, step.loop)) {
    return reject(RejectionCode::NotEnclosing, step.target, step.loop, step.stage);
  }
  if (step.loop != kNoLoop && step.target == before.attach_stage &&
      position(stage(step.target), step.loop) > position(stage(step.target), before.attach_loop)) {
    return reject(RejectionCode::NotEnclosing, step.target, step.loop, step.stage);
  }
  // Below a parallel loop each slot has its own slice: the buffer cannot lie outside of it.
  for (StageId t = before.attach_stage; t >= 0;) {
    const Stage& around = stage(t);
    const int from = t == step.target && step.loop != kNoLoop ? position(around, step.loop) + 1 : 0;
    const int to = t == before.attach_stage ? position(around, before.attach_loop) : -1;
    for (int i = from; i <= to || (to < 0 && i < static_cast<int>(around.order.size())); ++i) {
      if (loop(around, around.order[static_cast<size_t>(i)]).parallel) {
        return reject(RejectionCode::NotAttachable, t, around.order[static_cast<size_t>(i)]);
      }
    }
    if (t == step.target && step.loop != kNoLoop) break;
    t = around.attach == AttachKind::Root ? StageId{-1} : around.attach_stage;
  }
  std::vector<int64_t> widths = before.storage_extent;
  if (before.base_stage == step.stage) {
    Coordinates coordinates(state_);
    for (size_t i = 0; i < before.storage.size(); ++i) {
      const LoopId axis = before.storage[i];
      if (!loop(before, axis).region) continue;
      const Place place = step.loop == kNoLoop ? Place{} : Place{step.target, step.loop};
      widths[i] = step.loop == kNoLoop
                      ? state_.dag().stage(before.op).axes[static_cast<size_t>(axis)].extent
                      : coordinates.region(step.stage, axis, place).width;
    }
  }
  Stage& st = edit(step.stage);
  st.stored_at_root = step.loop == kNoLoop;
  st.store_stage = step.loop == kNoLoop ? StageId{-1} : step.target;
  st.store_loop = step.loop;
  st.storage_extent = std::move(widths);
  return std::nullopt;
}

StepApplier::Outcome StepApplier::on(const ShareStep& step) {
  if (Outcome r = check_stage(step.stage)) return r;
  if (Outcome r = check_stage(step.with)) return r;
  const Stage& s = stage(step.stage);
  const Stage& w = stage(step.with);
  const StageInfo& si = state_.dag().stage(s.op);
  const StageInfo& wi = state_.dag().stage(w.op);
  auto whole = [](const Stage& st) {
    return st.role == StageRole::Compute || st.role == StageRole::WriteBack ||
           st.role == StageRole::Final;
  };
  bool ok = step.stage != step.with && si.tensor->shape == wi.tensor->shape &&
            si.tensor->dtype == wi.tensor->dtype && !si.is_output && s.stored_at_root &&
            w.stored_at_root && w.shares < 0 && s.shares < 0 && wi.reduce() == nullptr &&
            s.attach == AttachKind::Root && s.storage_extent == w.storage_extent && whole(s) &&
            whole(w) && !shared(step.with) && !shared(step.stage) &&
            w.attach != AttachKind::At;  // computed once
  for (StageId c = 0; ok && c < state_.size(); ++c) {
    const Stage& reader = stage(c);
    if (reader.attach == AttachKind::Inlined) continue;
    for (const StageRead& r : reader.reads) {
      if (r.source != step.stage) continue;
      // The accumulator's partner reads its own elements; the sharer may only do that too.
      if (c != step.with || !own_index(r, wi.axes.size())) ok = false;
    }
  }
  if (!ok) return reject(RejectionCode::NotShareable, step.stage, kNoLoop, step.with);
  edit(step.stage).shares = step.with;
  return std::nullopt;
}

}  // namespace espalier
