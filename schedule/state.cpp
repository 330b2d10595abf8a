#include "espalier/schedule/state.h"

#include "espalier/schedule/apply.h"
#include "espalier/support/check.h"

namespace espalier {

bool Stage::has_own_reduce() const {
  for (LoopId l : order) {
    if (loops[static_cast<size_t>(l)].reduce) return true;
  }
  return false;
}

State State::initial(const Task& task) {
  State state;
  state.task_ = std::make_shared<Task>(task);
  const ComputeDag& dag = task.dag;
  for (int i = 0; i < dag.size(); ++i) {
    const StageInfo& info = dag.stage(i);
    auto stage = std::make_shared<Stage>();
    stage->op = static_cast<int16_t>(i);
    stage->base_stage = static_cast<StageId>(i);
    stage->role = info.is_compute() ? StageRole::Compute : StageRole::Input;
    stage->spatial_axes = static_cast<int>(info.tensor->shape.size());
    stage->reduce_axes = static_cast<int>(info.reduce_axes.size());
    auto add_axis = [&](int64_t extent, bool reduce) {
      Loop loop;
      loop.extent = extent;
      loop.reduce = reduce;
      if (info.is_compute()) stage->order.push_back(static_cast<LoopId>(stage->loops.size()));
      stage->loops.push_back(loop);
    };
    for (int64_t extent : info.tensor->shape) {
      stage->storage.push_back(static_cast<LoopId>(stage->loops.size()));
      stage->storage_extent.push_back(extent);
      add_axis(extent, false);
    }
    for (const Axis& axis : info.reduce_axes) add_axis(axis.extent, true);
    for (size_t k = 0; k < info.accesses.size(); ++k) {
      const Access& access = info.accesses[k];
      StageRead read;
      read.source = static_cast<StageId>(access.producer);
      read.producer = static_cast<int16_t>(access.producer);
      read.path = {static_cast<int16_t>(k)};
      read.linear = access.linear;
      stage->reads.push_back(std::move(read));
    }
    state.order_.push_back(static_cast<StageId>(i));
    state.stages_.push_back(std::move(stage));
  }
  return state;
}

std::optional<Rejection> State::apply(const Step& step, std::span<const int32_t> decisions) {
  Step filled = step;
  for_each_num(filled, [&](Num& n) {
    if (n.slot < 0) return;
    ESP_CHECK(static_cast<size_t>(n.slot) < decisions.size(), "a slot without a decision");
    n = Num{decisions[static_cast<size_t>(n.slot)], -1};
  });
  const int16_t position = static_cast<int16_t>(trace_.size());
  StepApplier applier(*this);
  if (std::optional<Rejection> r = applier.apply(filled)) {
    r->step = position;
    return r;
  }
  trace_.push_back(std::move(filled));
  return std::nullopt;
}

Replayed apply(const State& state, const Step& step) {
  State next = state;
  if (std::optional<Rejection> r = next.apply(step)) return *r;
  return next;
}

namespace {

Replayed fold(const Task& task, const Trace& trace, std::span<const int32_t> decisions) {
  State state = State::initial(task);
  for (const Step& step : trace) {
    if (std::optional<Rejection> r = state.apply(step, decisions)) return *r;
  }
  return state;
}

}  // namespace

Replayed replay(const Task& task, const Candidate& candidate) {
  return fold(task, candidate.sketch->steps, candidate.decisions);
}

Replayed replay(const Task& task, const Trace& trace) { return fold(task, trace, {}); }

}  // namespace espalier
