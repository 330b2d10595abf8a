// Retargeter: one walk along the donor's trace. See transfer/retarget.h for what it does.
#pragma once

#include <optional>
#include <vector>

#include "espalier/search/rule.h"
#include "espalier/transfer/donor_uses.h"
#include "espalier/transfer/retarget.h"

namespace espalier {

class Retargeter {
 public:
  // `donor_end`: the state of the whole donor's trace.
  Retargeter(const DagMap& map, const Task& donor, const Trace& trace, const Task& target,
             const RetargetOptions& options, const State& donor_end);

  void run();

  const State& state() const { return target_.state(); }
  Retargeted result();
  bool met_too_many_registers() const { return too_many_registers_; }
  // The tile that the walk aimed at, if the donor has one.
  std::optional<TileSize> aimed_tile() const;

 private:
  // The target's loops that stand for a donor's loop, outermost first.
  using Image = std::vector<LoopId>;
  using Images = std::vector<Image>;  // by donor loop

  // What follows the map before the first step.
  void map_stages();
  void find_collapse();
  void inline_leftovers();
  // And after the last one.
  void schedule_leftovers();
  void share_between_threads();
  double work_in(StageId root) const;

  // Steps (retarget_steps.cpp, retarget_layout.cpp). The donor's state has the step already.
  void on(const SplitStep& step);
  void on(const FuseStep& step);
  void on(const ReorderStep& step);
  void on(const AnnotateStep& step);
  void on(const ComputeAtStep& step);
  void on(const ComputeRootStep& step);
  void on(const ComputeAfterStep& step);
  void on(const StoreAtStep& step);
  void on(const ShareStep& step);
  void on(const InlineStep& step);
  void on(const CacheWriteStep& step);
  void on(const CacheReadStep& step);
  void on(const PackConstantStep& step);
  void on(const RfactorStep& step);
  void on(const PadStep& step);
  void vectorize(const AnnotateStep& step, StageId ts, LoopId loop);
  LoopId widen_parallel(StageId stage, StageId ts, LoopId loop);
  void copy(StageId stage, int16_t read, LoopId loop, const std::vector<LayoutEntry>& layout,
            bool pack);
  void collapse(const ComputeAtStep& step);
  void attach_epilogue();

  // Layouts of copies.
  int find_read(StageId stage, const StageRead& read, StageId ts) const;
  std::vector<std::vector<int>> dims_of(const StageRead& from, const StageRead& to, int op) const;
  Num block_of(const LayoutEntry& entry, const StageRead& from, int64_t target_extent);
  struct MappedLayout {
    std::vector<LayoutEntry> entries;
    std::vector<int> origin;  // the donor's entry that each came of, -1: none
  };
  MappedLayout map_layout(StageId stage, const StageRead& from, StageId ts, const StageRead& to,
                          LoopId at, const std::vector<LayoutEntry>& layout);

  // Images.
  StageId to(StageId donor_stage) const { return stage_to_[static_cast<size_t>(donor_stage)]; }
  Image& image(StageId stage, LoopId loop) {
    return images_[static_cast<size_t>(stage)][static_cast<size_t>(loop)];
  }
  void grow(StageId stage);  // images for all loops that the donor's stage has now
  bool is_leaf(StageId ts, LoopId loop) const;
  Image leaves(StageId ts, const Image& loops) const;
  // One loop for an image: fused if the options say so and it works, else the innermost. `outer`
  // gets the others.
  LoopId resolve(StageId ts, Image& loops, Image* outer);
  // Loops to attach at, the wanted one first, then further out.
  std::vector<LoopId> attach_points(StageId donor_stage, LoopId loop) const;
  // Whether the stage's loop stands for none of the donor's.
  bool is_inner(StageId stage, LoopId loop) const;
  bool is_foreign(StageId stage, LoopId loop) const;
  // Puts `by` in the place of the loops in all images of the stage.
  void replace(StageId stage, const Image& loops, LoopId by);
  // After a step that gave the stages fresh loops.
  void map_fresh(StageId stage, const Images& before, size_t first_fresh);
  StageId add_stage(StageId to, Images images);
  // The order of the stage's loops that the donor's order means, with loops that the donor does not
  // have in their places; `extras`: whether there are any.
  std::vector<LoopId> full_order(StageId stage, StageId ts, bool* extras) const;

  // Reports.
  bool attempt(Step step);  // false: `rejection_` says why
  void mend(FateReason reason);
  void drop(FateReason reason);
  void drop_rejected();
  void open_report(int donor_step);
  void close_report();
  void added(FateReason reason, int first);

  Num factor_slot(const FactorReport& factor, SlotKind kind);

  const DagMap& map_;
  const Task& donor_task_;
  const Trace& trace_;
  const RetargetOptions options_;
  const DonorUses uses_;
  const RefitMachines machines_;

  State donor_;
  PartialSketch target_;
  std::vector<StageId> stage_to_;  // by donor stage
  std::vector<Images> images_;     // by donor stage
  std::vector<StepReport> reports_;
  std::vector<FactorReport> factors_;
  StepReport report_;
  Rejection rejection_;
  bool too_many_registers_ = false;
  bool lost_parallel_ = false;  // a loop that the donor's threads share has no counterpart

  // The donor's register tile, and the one to have instead.
  std::optional<DonorUses::Tile> donor_tile_;
  std::optional<TileSize> tile_;

  // The donor computes its anchor inside an element-wise stage that the target does not have.
  StageId collapsed_ = kNoStage;
  LoopId collapse_loop_ = kNoLoop;
  Images anchor_images_;
  // The target's element-wise stage behind the anchor that the donor does not have.
  StageId epilogue_ = kNoStage;
  LoopId epilogue_loop_ = kNoLoop;  // to run at the end of, once the step is reported
  std::vector<bool> scheduled_;     // by DAG stage of the target

  // Factors of splits that layouts may repeat.
  struct KnownFactor {
    int op;
    std::vector<int> axes;
    int64_t value;
    int16_t slot;
  };
  std::vector<KnownFactor> known_factors_;
};

}  // namespace espalier
