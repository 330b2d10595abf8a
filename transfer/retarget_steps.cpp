// How each step is rewritten, but for copies (retarget_layout.cpp).
#include <algorithm>
#include <utility>

#include "espalier/search/rules/nest_tools.h"
#include "espalier/transfer/retargeter.h"

namespace espalier {
namespace {

// Iterations of straight code that need no precedent.
constexpr int64_t kFewIterations = 16;

bool intersect(const std::vector<int>& a, const std::vector<int>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](int x) { return std::find(b.begin(), b.end(), x) != b.end(); });
}

SlotKind kind_of(FactorUse use) {
  switch (use) {
    case FactorUse::Vector: return SlotKind::Vector;
    case FactorUse::Register:
    case FactorUse::Straight: return SlotKind::Register;
    case FactorUse::Tile: return SlotKind::Tile;
  }
  return SlotKind::Tile;
}

}  // namespace

void Retargeter::on(const SplitStep& step) {
  grow(step.stage);
  const StageId ts = to(step.stage);
  if (ts == kNoStage) return drop(FateReason::NoStage);
  Image& whole = image(step.stage, step.loop);
  whole = leaves(ts, whole);
  if (whole.empty()) return drop(FateReason::NoLoop);
  Image outer;
  const LoopId loop = resolve(ts, whole, &outer);

  const Stage& from = donor_.stage(step.stage);
  const size_t parts = step.factors.size() + 1;
  const size_t first_part = from.loops.size() - parts;
  auto part = [&](size_t i) { return static_cast<LoopId>(first_part + i); };
  SplitRefit refit;
  refit.donor_extent = from.loops[static_cast<size_t>(step.loop)].extent;
  refit.target_extent = target_.extent(ts, loop);
  refit.outer_is_parallel = uses_.is_parallel(step.stage, part(0));
  for (size_t i = 1; i < parts; ++i) {
    const int64_t value = step.factors[i - 1].value;
    refit.factors.push_back({uses_.use_of(step.stage, part(i)), value, value, RefitRule::Kept});
  }
  const std::vector<int> axes = axes_of_loop(from, step.loop);
  if (options_.refit) {
    const bool tiled =
        tile_ && donor_tile_ &&
        (intersect(axes, donor_tile_->column_axes) || intersect(axes, donor_tile_->row_axes));
    const int op = from.op;
    const bool of_anchor =
        op == map_.donor_anchor || op == end_of_chain(donor_task_.dag, map_.donor_anchor);
    refit_split(&refit, tiled && of_anchor ? tile_ : std::nullopt, machines_);
  }

  std::vector<Num> numbers;
  const size_t reported = factors_.size(), known = known_factors_.size();
  for (const RefitFactor& f : refit.factors) {
    numbers.push_back(factor_slot(
        {report_.donor_step, -1, refit.donor_extent, refit.target_extent, f}, kind_of(f.use)));
    known_factors_.push_back({from.op, axes, f.donor, numbers.back().slot});
  }
  if (!attempt(SplitStep{ts, loop, numbers})) {
    factors_.resize(reported);
    known_factors_.resize(known);
    // The outer part stands for all of it.
    image(step.stage, part(0)) = image(step.stage, step.loop);
    return drop_rejected();
  }
  const size_t first_new = target_.stage(ts).loops.size() - parts;
  for (size_t i = 0; i < parts; ++i) {
    image(step.stage, part(i)) = {static_cast<LoopId>(first_new + i)};
  }
  Image& outermost = image(step.stage, part(0));
  outermost.insert(outermost.begin(), outer.begin(), outer.end());
}

void Retargeter::on(const FuseStep& step) {
  grow(step.stage);
  const StageId ts = to(step.stage);
  if (ts == kNoStage) return drop(FateReason::NoStage);
  const LoopId fused = static_cast<LoopId>(donor_.stage(step.stage).loops.size() - 1);
  Image wanted;
  for (LoopId l : step.loops) {
    for (LoopId t : leaves(ts, image(step.stage, l))) {
      if (std::find(wanted.begin(), wanted.end(), t) == wanted.end()) wanted.push_back(t);
    }
  }
  image(step.stage, fused) = wanted;
  if (wanted.empty()) return drop(FateReason::NoLoop);
  if (wanted.size() == 1) return mend(FateReason::AlreadyOneLoop);

  // What stands between them goes along if the donor has no such loop.
  const std::vector<LoopId>& order = target_.stage(ts).order;
  auto place = [&](LoopId l) { return std::find(order.begin(), order.end(), l) - order.begin(); };
  auto first = place(wanted[0]), last = first;
  bool in_order = true;
  for (size_t i = 1; i < wanted.size(); ++i) {
    in_order = in_order && place(wanted[i]) > place(wanted[i - 1]);
    first = std::min(first, place(wanted[i]));
    last = std::max(last, place(wanted[i]));
  }
  Image all = wanted;
  if (in_order && static_cast<size_t>(last - first) + 1 > wanted.size()) {
    Image range(order.begin() + first, order.begin() + last + 1);
    const bool alike = std::all_of(range.begin(), range.end(), [&](LoopId l) {
      return target_.loop(ts, l).reduce == target_.loop(ts, wanted[0]).reduce;
    });
    const bool foreign = std::all_of(range.begin(), range.end(), [&](LoopId l) {
      return std::find(wanted.begin(), wanted.end(), l) != wanted.end() ||
             is_foreign(step.stage, l);
    });
    if (alike && foreign) {
      all = std::move(range);
      mend(FateReason::LoopsPlaced);
    }
  }
  if (!attempt(FuseStep{ts, all})) return drop_rejected();
  image(step.stage, fused) = {static_cast<LoopId>(target_.stage(ts).loops.size() - 1)};
}

void Retargeter::on(const ReorderStep& step) {
  const StageId ts = to(step.stage);
  if (ts == kNoStage) return drop(FateReason::NoStage);
  Image named;
  for (LoopId l : step.order) {
    for (LoopId t : leaves(ts, image(step.stage, l))) {
      if (std::find(named.begin(), named.end(), t) == named.end()) named.push_back(t);
    }
  }
  bool extras = false;
  std::vector<LoopId> order = full_order(step.stage, ts, &extras);
  if (extras) {
    mend(FateReason::LoopsPlaced);
    if (order == target_.stage(ts).order || attempt(ReorderStep{ts, std::move(order)})) return;
  }
  if (named.empty()) return drop(FateReason::NoLoop);
  if (named.size() == 1) return mend(FateReason::AlreadyOneLoop);
  if (!attempt(ReorderStep{ts, std::move(named)})) drop_rejected();
}

void Retargeter::vectorize(const AnnotateStep& step, StageId ts, LoopId loop) {
  const int64_t donor_extent =
      donor_.stage(step.stage).loops[static_cast<size_t>(step.loop)].extent;
  const int64_t extent = target_.extent(ts, loop);
  const int64_t lanes = machines_.target_lanes();
  if (options_.refit && extent > std::max(donor_extent, 16 * lanes)) {
    SplitRefit refit;
    refit.donor_extent = donor_extent;
    refit.target_extent = extent;
    const int64_t value = std::min(donor_extent, 4 * static_cast<int64_t>(machines_.donor_lanes()));
    refit.factors.push_back({FactorUse::Vector, value, value, RefitRule::Kept});
    refit_split(&refit, std::nullopt, machines_);
    const size_t reported = factors_.size();
    const Num number = factor_slot({report_.donor_step, -1, donor_extent, extent, refit.factors[0]},
                                   SlotKind::Vector);
    if (attempt(SplitStep{ts, loop, {number}})) {
      mend(FateReason::SplitFirst);
      const LoopId inner = static_cast<LoopId>(target_.stage(ts).loops.size() - 1);
      image(step.stage, step.loop) = {static_cast<LoopId>(inner - 1), inner};
      loop = inner;
    } else {
      factors_.resize(reported);
    }
  }
  if (!attempt(AnnotateStep{ts, loop, Annotation::Vectorize, {}})) drop_rejected();
}

// Whether lanes or registers are made of the donor's loop that the target's stands for.
bool Retargeter::is_inner(StageId stage, LoopId loop) const {
  const Images& all = images_[static_cast<size_t>(stage)];
  for (size_t l = 0; l < all.size(); ++l) {
    if (std::find(all[l].begin(), all[l].end(), loop) == all[l].end()) continue;
    const std::vector<LoopId>& leaves = donor_.stage(stage).order;
    const LoopId id = static_cast<LoopId>(l);
    if (std::find(leaves.begin(), leaves.end(), id) == leaves.end()) continue;
    const FactorUse use = uses_.use_of(stage, id);
    if (use == FactorUse::Vector || use == FactorUse::Register) return true;
  }
  return false;
}

// Loops that only the target has and that stand outside go along, and loops inside where there are
// too few iterations for the threads.
LoopId Retargeter::widen_parallel(StageId stage, StageId ts, LoopId loop) {
  auto order = [&]() -> const std::vector<LoopId>& { return target_.stage(ts).order; };
  auto plain = [&](LoopId l) {
    const Loop& lp = target_.loop(ts, l);
    return !lp.reduce && !lp.parallel && !lp.vectorize && !lp.unroll && !lp.partition &&
           lp.prefetch == 0;
  };
  auto at = std::find(order().begin(), order().end(), loop);
  const bool all_foreign =
      std::all_of(order().begin(), at, [&](LoopId l) { return plain(l) && is_foreign(stage, l); });
  if (all_foreign && at != order().begin()) {
    const Image range(order().begin(), at + 1);
    if (attempt(FuseStep{ts, range})) {
      mend(FateReason::FusedWider);
      loop = static_cast<LoopId>(target_.stage(ts).loops.size() - 1);
      replace(stage, range, loop);
    }
  }
  const int64_t wanted = 2 * target_.task().threads;
  while (target_.extent(ts, loop) < wanted) {
    at = std::find(order().begin(), order().end(), loop);
    if (at == order().end() || at + 1 == order().end() || !plain(*(at + 1))) break;
    // The innermost is for lanes and registers.
    if (at + 2 == order().end() || is_inner(stage, *(at + 1))) break;
    const Image pair = {loop, *(at + 1)};
    if (!attempt(FuseStep{ts, pair})) break;
    mend(FateReason::FusedWider);
    loop = static_cast<LoopId>(target_.stage(ts).loops.size() - 1);
    replace(stage, pair, loop);
  }
  return loop;
}

void Retargeter::on(const AnnotateStep& step) {
  const StageId ts = to(step.stage);
  if (ts == kNoStage) return drop(FateReason::NoStage);
  if (!has_loop(step.annotation)) {
    if (!attempt(AnnotateStep{ts, kNoLoop, step.annotation, {}})) drop_rejected();
    return;
  }
  Image& loops = image(step.stage, step.loop);
  loops = leaves(ts, loops);
  if (loops.empty()) {
    lost_parallel_ = lost_parallel_ || step.annotation == Annotation::Parallel;
    return drop(FateReason::NoLoop);
  }
  LoopId loop = loops.back();
  switch (step.annotation) {
    case Annotation::Parallel: {
      if (target_.task().threads == 1 && donor_task_.threads > 1) {
        return drop(FateReason::OneThread);
      }
      if (loops.size() > 1) {
        // The outermost, where they cannot be one.
        Image outer;
        const Image all = loops;
        loop = resolve(ts, loops, &outer);
        if (!outer.empty()) loop = all.front();
      }
      // As it was where nothing changed.
      if (map_.level > MatchLevel::Exact) loop = widen_parallel(step.stage, ts, loop);
      break;
    }
    case Annotation::Vectorize: return vectorize(step, ts, loop);
    case Annotation::Unroll: {
      const int64_t before = donor_.stage(step.stage).loops[static_cast<size_t>(step.loop)].extent;
      if (target_.loop(ts, loop).reduce && !options_.straight_reductions) {
        return drop(FateReason::TooMuchCode);
      }
      if (target_.extent(ts, loop) > std::max(before, kFewIterations)) {
        return drop(FateReason::TooLong);
      }
      break;
    }
    default: break;
  }
  if (!attempt(AnnotateStep{ts, loop, step.annotation, step.arg})) drop_rejected();
}

void Retargeter::on(const ComputeAtStep& step) {
  if (step.target == collapsed_ && step.stage == map_.donor_anchor) return collapse(step);
  const StageId ts = to(step.stage), tt = to(step.target);
  if (ts == kNoStage || tt == kNoStage) return drop(FateReason::NoStage);
  const std::vector<LoopId> points = attach_points(step.target, step.loop);
  if (points.empty()) return drop(FateReason::NoLoop);
  std::optional<Rejection> first;
  for (LoopId l : points) {
    if (attempt(ComputeAtStep{ts, tt, l})) {
      if (l != points[0]) mend(FateReason::FurtherOut);
      return;
    }
    if (!first) first = rejection_;
  }
  rejection_ = *first;
  drop_rejected();
}

void Retargeter::collapse(const ComputeAtStep& step) {
  const StageId ts = to(collapsed_);
  const std::vector<LoopId> points = attach_points(collapsed_, step.loop);
  const size_t first_fresh = target_.stage(ts).loops.size();
  for (LoopId l : points) {
    if (!attempt(CacheWriteStep{ts, l})) continue;
    const StageId accumulator = static_cast<StageId>(target_.state().size() - 1);
    mend(FateReason::AsAccumulator);
    const StageId anchor = static_cast<StageId>(map_.donor_anchor);
    stage_to_[static_cast<size_t>(anchor)] = accumulator;
    Images& inside = images_[static_cast<size_t>(anchor)];
    inside = anchor_images_;
    inside.resize(donor_.stage(anchor).loops.size());
    // Its spatial axes are what its consumer computes below the loop.
    const Stage& consumer = donor_.stage(collapsed_);
    for (int a = 0; a < donor_.stage(anchor).spatial_axes; ++a) {
      Image& loops = inside[static_cast<size_t>(a)];
      loops.clear();
      for (LoopId below : loops_below(consumer, step.loop)) {
        const std::vector<int> axes = axes_of_loop(consumer, below);
        if (std::find(axes.begin(), axes.end(), a) == axes.end()) continue;
        for (LoopId t : image(collapsed_, below)) {
          if (is_leaf(accumulator, t)) loops.push_back(t);
        }
      }
    }
    // The consumer's are what writes back.
    const Stage& back = target_.stage(ts);
    for (Image& loops : images_[static_cast<size_t>(collapsed_)]) {
      for (LoopId& t : loops) {
        for (size_t k = first_fresh; k < back.loops.size(); ++k) {
          if (back.loops[k].copy_of == t) t = static_cast<LoopId>(k);
        }
      }
    }
    return;
  }
  // Without accumulators of its own the anchor is what its consumer was.
  stage_to_[static_cast<size_t>(map_.donor_anchor)] = kNoStage;
  points.empty() ? drop(FateReason::NoLoop) : drop_rejected();
}

void Retargeter::on(const ComputeRootStep& step) {
  const StageId ts = to(step.stage);
  if (ts == kNoStage) return drop(FateReason::NoStage);
  if (!attempt(ComputeRootStep{ts})) drop_rejected();
}

void Retargeter::on(const ComputeAfterStep& step) {
  const StageId ts = to(step.stage), tt = to(step.target);
  grow(step.stage);
  Images after = images_[static_cast<size_t>(step.target)];
  after.resize(donor_.stage(step.stage).loops.size());
  if (ts == kNoStage || tt == kNoStage) return drop(FateReason::NoStage);
  for (LoopId l : attach_points(step.target, step.loop)) {
    if (!attempt(ComputeAfterStep{ts, tt, l})) continue;
    // It has the loops of what it runs after.
    images_[static_cast<size_t>(step.stage)] = std::move(after);
    return;
  }
  drop_rejected();
}

void Retargeter::on(const StoreAtStep& step) {
  const StageId ts = to(step.stage);
  if (ts == kNoStage) return drop(FateReason::NoStage);
  if (step.loop == kNoLoop) {
    if (!attempt(StoreAtStep{ts, ts, kNoLoop})) drop_rejected();
    return;
  }
  const StageId tt = to(step.target);
  if (tt == kNoStage) return drop(FateReason::NoStage);
  const std::vector<LoopId> points = attach_points(step.target, step.loop);
  if (points.empty()) return drop(FateReason::NoLoop);
  if (!attempt(StoreAtStep{ts, tt, points[0]})) drop_rejected();
}

void Retargeter::on(const ShareStep& step) {
  const StageId ts = to(step.stage), with = to(step.with);
  if (ts == kNoStage || with == kNoStage) return drop(FateReason::NoStage);
  if (!attempt(ShareStep{ts, with})) drop_rejected();
}

void Retargeter::on(const InlineStep& step) {
  const StageId ts = to(step.stage);
  if (ts == kNoStage) return drop(FateReason::NoStage);
  if (target_.stage(ts).attach == AttachKind::Inlined) return mend(FateReason::AlreadyInlined);
  if (!attempt(InlineStep{ts})) drop_rejected();
}

void Retargeter::on(const CacheWriteStep& step) {
  const StageId ts = to(step.stage);
  const Images before = images_[static_cast<size_t>(step.stage)];
  if (ts == kNoStage) {
    add_stage(kNoStage, {});
    grow(step.stage);
    return drop(FateReason::NoStage);
  }
  std::vector<LoopId> points = {kNoLoop};
  if (step.loop != kNoLoop) points = attach_points(step.stage, step.loop);
  // The donor's stage keeps the loops down to the one it attaches at: all of those count.
  const size_t first_fresh = target_.stage(ts).loops.size();
  for (LoopId l : points) {
    if (!attempt(CacheWriteStep{ts, l})) continue;
    add_stage(static_cast<StageId>(target_.state().size() - 1), before);
    map_fresh(step.stage, before, first_fresh);
    if (l != points[0]) mend(FateReason::FurtherOut);
    if (ts == map_.target_anchor && epilogue_ != kNoStage) epilogue_loop_ = l;
    return;
  }
  // Without accumulators, the stage itself has the loops that they would have taken over.
  add_stage(ts, before);
  grow(step.stage);
  points.empty() ? drop(FateReason::NoLoop) : drop_rejected();
}

// The target's element-wise stage behind the anchor runs after each tile, as the tiling rule has it
// (search/rules/tiling_nest.cpp).
void Retargeter::attach_epilogue() {
  const LoopId loop = std::exchange(epilogue_loop_, kNoLoop);
  const StageId stage = std::exchange(epilogue_, kNoStage);
  const StageId anchor = static_cast<StageId>(map_.target_anchor);
  const int first = static_cast<int>(target_.sketch().steps.size());
  if (!attempt(ComputeAfterStep{stage, anchor, loop})) return;
  scheduled_[static_cast<size_t>(stage)] = true;
  const std::vector<LoopId> loops = target_.stage(stage).order;
  if (loops.size() > 1) {
    const LoopId rows = loops[loops.size() - 2];
    if (target_.extent(stage, rows) <= kFewIterations) {
      attempt(AnnotateStep{stage, rows, Annotation::Unroll, {}});
    }
  }
  if (!loops.empty()) attempt(AnnotateStep{stage, loops.back(), Annotation::Vectorize, {}});
  bool blocked = false;
  for (LoopId l : target_.stage(anchor).order) {
    blocked = blocked || target_.loop(anchor, l).reduce;
    if (l == loop) break;
  }
  // Partial sums are kept where the result will be, if that can hold them.
  blocked ? attempt(ShareStep{anchor, stage}) : attempt(StoreAtStep{anchor, anchor, loop});
  added(FateReason::NotInDonor, first);
}

void Retargeter::on(const RfactorStep& step) {
  const StageId ts = to(step.stage);
  const Images before = images_[static_cast<size_t>(step.stage)];
  if (ts == kNoStage) {
    add_stage(kNoStage, {});
    grow(step.stage);
    return drop(FateReason::NoStage);
  }
  Image loops;
  for (LoopId l : step.loops) {
    for (LoopId t : leaves(ts, image(step.stage, l))) {
      if (std::find(loops.begin(), loops.end(), t) == loops.end()) loops.push_back(t);
    }
  }
  const size_t first_fresh = target_.stage(ts).loops.size();
  if (loops.empty() || !attempt(RfactorStep{ts, loops})) {
    add_stage(ts, before);
    grow(step.stage);
    return loops.empty() ? drop(FateReason::NoLoop) : drop_rejected();
  }
  add_stage(static_cast<StageId>(target_.state().size() - 1), before);
  map_fresh(step.stage, before, first_fresh);
}

void Retargeter::on(const PadStep& step) {
  const StageId ts = to(step.stage);
  if (ts == kNoStage) return drop(FateReason::NoStage);
  const Image loops = leaves(ts, image(step.stage, step.axis));
  if (loops.size() != 1) return drop(FateReason::NoLoop);
  if (!attempt(PadStep{ts, loops[0], step.multiple})) drop_rejected();
}

}  // namespace espalier
