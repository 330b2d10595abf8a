// Application of steps to a state, one file a step or a pair of them (apply_*.cpp). Each checks
// first and changes the state only when nothing can be wrong any more.
#pragma once

#include "espalier/schedule/coordinates.h"

namespace espalier {

class StepApplier {
 public:
  using Outcome = std::optional<Rejection>;

  explicit StepApplier(State& state) : state_(state) {}
  Outcome apply(const Step& step);

 private:
  Outcome on(const SplitStep& step);
  Outcome on(const FuseStep& step);
  Outcome on(const ReorderStep& step);
  Outcome on(const AnnotateStep& step);
  Outcome on(const ComputeAtStep& step);
  Outcome on(const ComputeRootStep& step);
  Outcome on(const ComputeAfterStep& step);
  Outcome on(const StoreAtStep& step);
  Outcome on(const ShareStep& step);
  Outcome on(const InlineStep& step);
  Outcome on(const CacheWriteStep& step);
  Outcome on(const CacheReadStep& step);
  Outcome on(const PackConstantStep& step);
  Outcome on(const RfactorStep& step);
  Outcome on(const PadStep& step);

  // Checks: nothing when all is well.
  Outcome check_stage(StageId s) const;           // exists and is computed
  Outcome check_leaf(StageId s, LoopId l) const;  // exists, is a loop of the nest
  Outcome check_attach_loop(StageId s, LoopId l) const;
  Outcome check_registers(StageId s) const;
  bool reorderable(const Stage& stage) const;
  // At root, axes whole and unannotated, and nothing attached inside.
  bool unscheduled(StageId s) const;
  static bool has_copies(const Stage& stage);
  bool shared(StageId s) const;  // another stage keeps its values in this one's buffer
  // Some stage is attached (or keeps its buffer) at this loop, or at any loop of the stage.
  bool attached_at(StageId s, LoopId l) const;
  bool attached_anywhere(StageId s) const;
  // Root stages run in execution order; a stage that runs inside the nest of an earlier one (after
  // the body of its loop `after`, if one is given) may read only what is complete there.
  bool sources_ready(StageId s, StageId nest, LoopId after = kNoLoop) const;
  StageId root_of(StageId s) const;
  // An input, or a root stage before `nest` in execution order.
  bool runs_before(StageId s, StageId nest) const;
  // `s` is `target` computed inside `loop`, or attached inside it, directly or through others.
  bool inside(StageId s, StageId target, LoopId loop) const;

  // Changes.
  Stage& edit(StageId s);
  StageId add_stage(std::shared_ptr<Stage> stage, StageId before);
  // What was attached at the moved loops of `from`, and what is bound to any of its loops, points
  // at `to`, where the loops have the same ids.
  void rebind(StageId from, StageId to, std::span<const LoopId> moved);
  void rename_attach_loop(StageId s, LoopId from, LoopId to);
  Outcome add_copy(StageId s, int16_t read, LoopId loop, const std::vector<LayoutEntry>& layout,
                   StageRole role);

  const Stage& stage(StageId s) const { return state_.stage(s); }
  static const Loop& loop(const Stage& stage, LoopId l) {
    return stage.loops[static_cast<size_t>(l)];
  }
  static int position(const Stage& stage, LoopId l);  // in the nest, -1: not a leaf
  static Rejection reject(RejectionCode code, StageId s, LoopId l = kNoLoop, int64_t a = 0,
                          int64_t b = 0) {
    return {code, -1, s, l, a, b};
  }

  State& state_;
};

}  // namespace espalier
