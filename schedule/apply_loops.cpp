// split, fuse, reorder: the shape of one stage's nest.
#include <algorithm>

#include "espalier/schedule/apply.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

// Of one stage, those that were split or fused included: LoopId has 16 bits, and a loop takes time.
constexpr int64_t kMaxLoops = 1024;

bool annotated(const Loop& l) {
  return l.parallel || l.vectorize || l.unroll || l.partition || l.prefetch != 0;
}

}  // namespace

StepApplier::Outcome StepApplier::on(const SplitStep& step) {
  if (Outcome r = check_leaf(step.stage, step.loop)) return r;
  const Loop& whole = loop(stage(step.stage), step.loop);
  if (annotated(whole)) return reject(RejectionCode::AlreadyAnnotated, step.stage, step.loop);
  if (step.factors.empty()) return reject(RejectionCode::BadFactor, step.stage, step.loop);
  const auto loops = static_cast<int64_t>(stage(step.stage).loops.size() + step.factors.size() + 1);
  if (loops > kMaxLoops) {
    return reject(RejectionCode::TooManyLoops, step.stage, step.loop, loops, kMaxLoops);
  }
  int64_t product = 1;
  for (const Num& f : step.factors) {
    const std::optional<int64_t> next = f.value < 1 ? std::nullopt : checked_mul(product, f.value);
    // A factor may exceed the extent (the rest is tail), but not without bound.
    if (!next || *next > (int64_t{1} << 40)) {
      return reject(RejectionCode::BadFactor, step.stage, step.loop, f.value, whole.extent);
    }
    product = *next;
  }

  Stage& st = edit(step.stage);
  const int at = position(st, step.loop);
  const int16_t relation = static_cast<int16_t>(st.relations.size());
  Relation rel{false, step.loop, {}};
  for (size_t i = 0; i <= step.factors.size(); ++i) {
    Loop part;
    const Loop& old = loop(st, step.loop);
    part.extent = i == 0 ? (old.extent + product - 1) / product : step.factors[i - 1].value;
    part.reduce = old.reduce;
    part.origin = relation;
    part.origin_part = static_cast<int16_t>(i);
    rel.parts.push_back(static_cast<LoopId>(st.loops.size()));
    st.loops.push_back(part);
  }
  Loop& old = st.loops[static_cast<size_t>(step.loop)];
  old.state = LoopState::Split;
  old.relation = relation;
  st.order.erase(st.order.begin() + at);
  st.order.insert(st.order.begin() + at, rel.parts.begin(), rel.parts.end());
  const LoopId last = rel.parts.back();
  st.relations.push_back(std::move(rel));
  // What was attached in the loop stays inside all of it.
  rename_attach_loop(step.stage, step.loop, last);
  return std::nullopt;
}

StepApplier::Outcome StepApplier::on(const FuseStep& step) {
  if (step.loops.size() < 2) return reject(RejectionCode::NotAdjacent, step.stage);
  for (LoopId l : step.loops) {
    if (Outcome r = check_leaf(step.stage, l)) return r;
  }
  const Stage& before = stage(step.stage);
  const int at = position(before, step.loops[0]);
  int64_t extent = 1;
  for (size_t i = 0; i < step.loops.size(); ++i) {
    const LoopId l = step.loops[i];
    const Loop& part = loop(before, l);
    if (position(before, l) != at + static_cast<int>(i)) {
      return reject(RejectionCode::NotAdjacent, step.stage, l);
    }
    if (part.reduce != loop(before, step.loops[0]).reduce) {
      return reject(RejectionCode::MixedKinds, step.stage, l);
    }
    if (annotated(part)) return reject(RejectionCode::AlreadyAnnotated, step.stage, l);
    if (i + 1 < step.loops.size() && attached_at(step.stage, l)) {
      return reject(RejectionCode::AttachedHere, step.stage, l);
    }
    const std::optional<int64_t> next = checked_mul(extent, part.extent);
    if (!next) return reject(RejectionCode::Overflow, step.stage, l);
    extent = *next;
  }

  Stage& st = edit(step.stage);
  const int16_t relation = static_cast<int16_t>(st.relations.size());
  const LoopId fused = static_cast<LoopId>(st.loops.size());
  Loop result;
  result.extent = extent;
  result.reduce = loop(st, step.loops[0]).reduce;
  result.origin = relation;
  st.loops.push_back(result);
  for (LoopId l : step.loops) {
    st.loops[static_cast<size_t>(l)].state = LoopState::Fused;
    st.loops[static_cast<size_t>(l)].relation = relation;
  }
  st.relations.push_back({true, fused, step.loops});
  st.order.erase(st.order.begin() + at,
                 st.order.begin() + at + static_cast<int>(step.loops.size()));
  st.order.insert(st.order.begin() + at, fused);
  rename_attach_loop(step.stage, step.loops.back(), fused);
  return std::nullopt;
}

StepApplier::Outcome StepApplier::on(const ReorderStep& step) {
  for (LoopId l : step.order) {
    if (Outcome r = check_leaf(step.stage, l)) return r;
  }
  const Stage& before = stage(step.stage);
  std::vector<int> places;
  for (LoopId l : step.order) places.push_back(position(before, l));
  std::sort(places.begin(), places.end());
  if (std::adjacent_find(places.begin(), places.end()) != places.end()) {
    return reject(RejectionCode::LoopNotLeaf, step.stage, step.order[0]);
  }
  std::vector<LoopId> after = before.order;
  for (size_t i = 0; i < places.size(); ++i) after[static_cast<size_t>(places[i])] = step.order[i];

  if (!reorderable(before)) {
    auto reduction_loops = [&](const std::vector<LoopId>& order) {
      std::vector<LoopId> loops;
      for (LoopId l : order) {
        if (loop(before, l).reduce) loops.push_back(l);
      }
      return loops;
    };
    if (reduction_loops(before.order) != reduction_loops(after)) {
      return reject(RejectionCode::NotReorderable, step.stage, step.order[0]);
    }
  }
  // The loops outside a place where something is attached stay the same.
  for (size_t i = 0; i < after.size(); ++i) {
    if (!attached_at(step.stage, before.order[i])) continue;
    const auto end = static_cast<std::ptrdiff_t>(i) + 1;
    if (after[i] != before.order[i] ||
        !std::is_permutation(after.begin(), after.begin() + end, before.order.begin())) {
      return reject(RejectionCode::AttachedHere, step.stage, before.order[i]);
    }
  }
  edit(step.stage).order = std::move(after);
  return std::nullopt;
}

void StepApplier::rename_attach_loop(StageId s, LoopId from, LoopId to) {
  for (StageId t = 0; t < state_.size(); ++t) {
    const Stage& st = stage(t);
    const bool attached = (st.attach == AttachKind::At || st.attach == AttachKind::After) &&
                          st.attach_stage == s && st.attach_loop == from;
    const bool stored = !st.stored_at_root && st.store_stage == s && st.store_loop == from;
    if (attached) edit(t).attach_loop = to;
    if (stored) edit(t).store_loop = to;
  }
}

}  // namespace espalier
