#include "espalier/search/sketch_builder.h"

#include <algorithm>
#include <limits>

#include "espalier/support/check.h"

namespace espalier {

Num SketchBuilder::slot(std::string name, SlotKind kind, int64_t start) {
  ESP_CHECK(start >= 0 && start <= std::numeric_limits<int32_t>::max(), "slot starts at ", start);
  const int slot = static_cast<int>(sketch_.slots.size());
  sketch_.slots.push_back({kind});
  start_.push_back(static_cast<int32_t>(start));
  const auto same = std::count(slot_names_.begin(), slot_names_.end(), name);
  ESP_CHECK(same == 0, "two slots called ", name);
  slot_names_.push_back(std::move(name));
  return Num::of_slot(slot);
}

int64_t SketchBuilder::value(const Num& n) const {
  return n.slot < 0 ? n.value : start_[static_cast<size_t>(n.slot)];
}

bool SketchBuilder::apply(Step step) {
  if (!ok()) return false;
  rejection_ = state_.apply(step, start_);
  if (!ok()) {
    rejected_ = std::move(step);
    return false;
  }
  sketch_.steps.push_back(std::move(step));
  slots_in_steps_ = sketch_.slots.size();
  return true;
}

std::optional<Rejection> SketchBuilder::attempt(Step step) {
  ESP_CHECK(ok(), "a step after one that was rejected");
  if (std::optional<Rejection> rejection = state_.apply(step, start_)) {
    sketch_.slots.resize(slots_in_steps_);
    start_.resize(slots_in_steps_);
    slot_names_.resize(slots_in_steps_);
    return rejection;
  }
  sketch_.steps.push_back(std::move(step));
  slots_in_steps_ = sketch_.slots.size();
  return std::nullopt;
}

std::string SketchBuilder::explain() const {
  if (ok()) return detail::concat("its code has a size of about ", code_size(state_));
  Trace trace = state_.trace();
  trace.push_back(*rejected_);
  for_each_num(trace.back(), [&](Num& n) { n = fixed(value(n)); });
  return espalier::explain(*rejection_, task(), trace);
}

void SketchBuilder::rewind(const Mark& mark) {
  state_ = mark.state;
  sketch_.steps.resize(mark.steps);
  sketch_.slots.resize(mark.slots);
  start_.resize(mark.slots);
  slot_names_.resize(mark.slots);
  slots_in_steps_ = mark.slots;
  rejection_.reset();
  rejected_.reset();
}

std::vector<LoopId> SketchBuilder::split(StageId s, LoopId l, std::vector<Num> inner) {
  std::vector<LoopId> parts(inner.size() + 1, l);
  const LoopId first = static_cast<LoopId>(stage(s).loops.size());
  if (!apply(SplitStep{s, l, std::move(inner)})) return parts;
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = static_cast<LoopId>(first + i);
  return parts;
}

LoopId SketchBuilder::fuse(StageId s, std::vector<LoopId> loops) {
  ESP_CHECK(!loops.empty());
  const LoopId first = loops[0];
  if (loops.size() == 1) return first;
  const LoopId fused = static_cast<LoopId>(stage(s).loops.size());
  return apply(FuseStep{s, std::move(loops)}) ? fused : first;
}

void SketchBuilder::reorder(StageId s, std::vector<LoopId> order) {
  if (order.size() > 1) apply(ReorderStep{s, std::move(order)});
}

void SketchBuilder::annotate(StageId s, LoopId l, Annotation a, Num arg) {
  apply(AnnotateStep{s, l, a, arg});
}

void SketchBuilder::compute_at(StageId s, StageId target, LoopId l) {
  apply(ComputeAtStep{s, target, l});
}

void SketchBuilder::compute_after(StageId s, StageId target, LoopId l) {
  apply(ComputeAfterStep{s, target, l});
}

void SketchBuilder::store_at(StageId s, StageId target, LoopId l) {
  apply(StoreAtStep{s, target, l});
}

void SketchBuilder::share(StageId s, StageId with) { apply(ShareStep{s, with}); }

void SketchBuilder::inline_stage(StageId s) { apply(InlineStep{s}); }

StageId SketchBuilder::cache_write(StageId s, LoopId l) {
  const StageId added = next_stage();
  return apply(CacheWriteStep{s, l}) ? added : s;
}

StageId SketchBuilder::cache_read(StageId s, int read, LoopId l, std::vector<LayoutEntry> layout) {
  const StageId added = next_stage();
  return apply(CacheReadStep{s, static_cast<int16_t>(read), l, std::move(layout)}) ? added : s;
}

StageId SketchBuilder::pack_constant(StageId s, int read, std::vector<LayoutEntry> layout) {
  const StageId added = next_stage();
  return apply(PackConstantStep{s, static_cast<int16_t>(read), std::move(layout)}) ? added : s;
}

StageId SketchBuilder::rfactor(StageId s, std::vector<LoopId> loops) {
  const StageId added = next_stage();
  return apply(RfactorStep{s, std::move(loops)}) ? added : s;
}

}  // namespace espalier
