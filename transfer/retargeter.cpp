#include "espalier/transfer/retargeter.h"

#include <algorithm>

#include "espalier/search/rules/nest_tools.h"
#include "espalier/support/number.h"
#include "espalier/transfer/roles.h"

namespace espalier {
namespace {

int element_bytes(const ComputeDag& dag, int stage) {
  return stage < 0 ? 4 : bytes_of(dag.stage(stage).tensor->dtype);
}

int64_t extent_of_axes(const StageInfo& info, const std::vector<int>& axes) {
  int64_t product = 1;
  for (int a : axes) product *= std::max<int64_t>(1, axis_of(info, a).extent);
  return product;
}

// How far the loops reach that stand for the given axes of the donor's anchor. Where the innermost
// of a group stands for it, that one.
int64_t target_extent(const DagMap& map, const ComputeDag& target, const std::vector<int>& axes,
                      bool fused) {
  const StageMap* anchor = map.of_donor(map.donor_anchor);
  if (anchor == nullptr) return 1;
  const StageInfo& info = target.stage(anchor->target);
  int64_t product = 1;
  for (const AxisGroup& g : anchor->axes) {
    const bool meant = std::any_of(g.donor.begin(), g.donor.end(), [&](int a) {
      return std::find(axes.begin(), axes.end(), a) != axes.end();
    });
    if (!meant || g.target.empty()) continue;
    product *= fused ? extent_of_axes(info, g.target) : extent_of_axes(info, {g.target.back()});
  }
  return product;
}

bool has_empty_axis(const StageInfo& info) {
  for (int a = 0; a < axis_count(info); ++a) {
    if (axis_of(info, a).extent == 0) return true;
  }
  return false;
}

}  // namespace

Retargeter::Retargeter(const DagMap& map, const Task& donor, const Trace& trace, const Task& target,
                       const RetargetOptions& options, const State& donor_end)
    : map_(map),
      donor_task_(donor),
      trace_(trace),
      options_(options),
      uses_(donor_end),
      machines_{donor.target,
                target.target,
                element_bytes(donor.dag, map.donor_anchor),
                element_bytes(target.dag, map.target_anchor),
                donor.threads,
                target.threads},
      donor_(State::initial(donor)),
      target_(target),
      scheduled_(static_cast<size_t>(target.dag.size()), false) {
  if (map.donor_anchor < 0) return;
  donor_tile_ = uses_.tile_of(map.donor_anchor);
  if (!donor_tile_ || !options.refit) return;
  if (options.tile) {
    tile_ = options.tile;
    return;
  }
  const bool loads_alike = [&] {
    // Every read moves along the columns: no operand is broadcast.
    const std::vector<AxisRole> roles = roles_of(donor.dag, map.donor_anchor);
    if (donor_tile_->column_axes.empty()) return false;
    const uint32_t moved = roles[static_cast<size_t>(donor_tile_->column_axes.back())].reads;
    const size_t reads = donor.dag.stage(map.donor_anchor).accesses.size();
    return reads > 0 && reads < 32 && moved == (1u << reads) - 1;
  }();
  tile_ = refit_tile(donor_tile_->size,
                     target_extent(map, target.dag, donor_tile_->row_axes, options.fuse_groups),
                     target_extent(map, target.dag, donor_tile_->column_axes, options.fuse_groups),
                     loads_alike, machines_);
}

std::optional<TileSize> Retargeter::aimed_tile() const {
  if (tile_) return tile_;
  if (donor_tile_) return donor_tile_->size;
  return std::nullopt;
}

void Retargeter::map_stages() {
  stage_to_.assign(static_cast<size_t>(donor_.size()), kNoStage);
  images_.resize(static_cast<size_t>(donor_.size()));
  for (StageId s = 0; s < donor_.size(); ++s) grow(s);
  for (const StageMap& pair : map_.stages) {
    stage_to_[static_cast<size_t>(pair.donor)] = static_cast<StageId>(pair.target);
    scheduled_[static_cast<size_t>(pair.target)] = true;
    for (const AxisGroup& g : pair.axes) {
      if (g.donor.empty() || g.target.empty()) continue;
      // From the innermost out, one for one; what is left of the target's goes with the last.
      size_t d = g.donor.size(), t = g.target.size();
      while (d > 0 && t > 0) {
        Image& loops = image(static_cast<StageId>(pair.donor), static_cast<LoopId>(g.donor[--d]));
        loops = {static_cast<LoopId>(g.target[--t])};
        if (d > 0 && t > 0) continue;
        while (t > 0) loops.insert(loops.begin(), static_cast<LoopId>(g.target[--t]));
      }
    }
  }
}

// The donor may compute its anchor inside the element-wise stage at the end of the chain. Without
// such a stage in the target the anchor takes that one's part, and its accumulators the anchor's.
void Retargeter::find_collapse() {
  const StageId anchor = static_cast<StageId>(map_.donor_anchor);
  const StageId end = static_cast<StageId>(end_of_chain(donor_task_.dag, map_.donor_anchor));
  if (end == anchor || to(end) != kNoStage || to(anchor) == kNoStage) return;
  for (const Step& step : trace_) {
    const auto* at = std::get_if<ComputeAtStep>(&step);
    if (at == nullptr || at->stage != anchor || at->target != end) continue;
    collapsed_ = end;
    collapse_loop_ = at->loop;
    anchor_images_ = images_[static_cast<size_t>(anchor)];
    images_[static_cast<size_t>(end)] = anchor_images_;
    images_[static_cast<size_t>(end)].resize(donor_.stage(end).loops.size());
    stage_to_[static_cast<size_t>(end)] = to(anchor);
    stage_to_[static_cast<size_t>(anchor)] = kNoStage;
    return;
  }
}

void Retargeter::inline_leftovers() {
  const ComputeDag& dag = target_.task().dag;
  std::shared_ptr<const SketchRule> rule;
  for (int s = dag.size() - 1; s >= 0; --s) {
    const StageId id = static_cast<StageId>(s);
    const StageInfo& info = dag.stage(s);
    if (scheduled_[static_cast<size_t>(s)] || !info.is_compute() || !info.inlineable) continue;
    if (!rule) rule = make_inline_rule();
    if (rule->suits(target_, id) <= 0) continue;
    const int first = static_cast<int>(target_.sketch().steps.size());
    const SketchBuilder::Mark mark = target_.mark();
    Chooser as_preferred;
    rule->apply(target_, id, as_preferred);
    if (!target_.ok()) target_.rewind(mark);
    if (target_.stage(id).attach != AttachKind::Inlined) continue;
    scheduled_[static_cast<size_t>(s)] = true;
    added(FateReason::NotInDonor, first);
  }
}

void Retargeter::schedule_leftovers() {
  const ComputeDag& dag = target_.task().dag;
  SketchRules rules;
  for (int s = dag.size() - 1; s >= 0; --s) {
    const StageId id = static_cast<StageId>(s);
    const StageInfo& info = dag.stage(s);
    if (!info.is_compute() || scheduled_[static_cast<size_t>(s)] || target_.finished(id) ||
        has_empty_axis(info) || target_.stage(id).attach != AttachKind::Root) {
      continue;
    }
    if (rules.empty()) {
      rules = default_rules();
      for (StageId other = 0; other < dag.size(); ++other) {
        if (scheduled_[static_cast<size_t>(other)]) target_.finish(other);
      }
    }
    const SketchRule* best = nullptr;
    double suits_best = 0;
    for (const auto& rule : rules) {
      if (rule->phase() != RulePhase::Nest) continue;
      const double suits = rule->suits(target_, id);
      if (suits > suits_best) {
        suits_best = suits;
        best = rule.get();
      }
    }
    if (best == nullptr) continue;
    const int first = static_cast<int>(target_.sketch().steps.size());
    const SketchBuilder::Mark mark = target_.mark();
    Chooser as_preferred;
    best->apply(target_, id, as_preferred);
    if (!target_.ok()) {
      target_.rewind(mark);
    } else {
      added(FateReason::NotInDonor, first);
    }
  }
}

// Microseconds of one thread for the stage and what is computed inside of it. By the definitions:
// accumulators and packed operands hide what a stage reads.
double Retargeter::work_in(StageId root) const {
  const State plain = State::initial(target_.task());
  std::vector<bool> counted(static_cast<size_t>(plain.size()), false);
  double work = 0;
  for (StageId s = 0; s < target_.state().size(); ++s) {
    StageId outer = s;
    while (target_.stage(outer).attach == AttachKind::At ||
           target_.stage(outer).attach == AttachKind::After) {
      outer = target_.stage(outer).attach_stage;
    }
    const size_t op = static_cast<size_t>(target_.stage(s).op);
    const StageRole role = target_.stage(s).role;
    const bool moves =
        role == StageRole::Input || role == StageRole::Pack || role == StageRole::Copy;
    if (outer != root || counted[op] || moves) {
      continue;
    }
    counted[op] = true;
    work += work_of(plain, target_.stage(s).op);
  }
  return work;
}

// Where the donor had one thread, or shared a loop that is not there, whatever is worth it is
// shared along its outermost spatial loops.
void Retargeter::share_between_threads() {
  const int threads = target_.task().threads;
  if (threads <= 1 || (donor_task_.threads > 1 && !lost_parallel_)) return;
  for (StageId s = 0; s < target_.state().size(); ++s) {
    const Stage& stage = target_.stage(s);
    if (stage.role == StageRole::Input || stage.role == StageRole::Pack ||
        stage.attach != AttachKind::Root || stage.order.empty()) {
      continue;
    }
    const bool shared = std::any_of(stage.order.begin(), stage.order.end(),
                                    [&](LoopId l) { return target_.loop(s, l).parallel; });
    if (shared || work_in(s) < kWorthWakingUs) continue;
    std::vector<LoopId> outer;
    int64_t iterations = 1;
    for (LoopId l : stage.order) {
      const Loop& lp = target_.loop(s, l);
      if (lp.reduce || lp.vectorize || lp.unroll || lp.partition || lp.prefetch != 0 ||
          iterations >= 8 * threads) {
        break;
      }
      outer.push_back(l);
      iterations *= lp.extent;
    }
    const int first = static_cast<int>(target_.sketch().steps.size());
    while (!outer.empty()) {
      LoopId loop = outer[0];
      if (outer.size() > 1) {
        if (!attempt(FuseStep{s, outer})) {
          outer.pop_back();
          continue;
        }
        loop = static_cast<LoopId>(target_.stage(s).loops.size() - 1);
      }
      if (target_.extent(s, loop) > 1) attempt(AnnotateStep{s, loop, Annotation::Parallel, {}});
      break;
    }
    if (static_cast<int>(target_.sketch().steps.size()) > first) {
      added(FateReason::Threads, first);
    }
  }
}

void Retargeter::run() {
  map_stages();
  if (map_.donor_anchor >= 0) {
    find_collapse();
    const int end = end_of_chain(target_.task().dag, map_.target_anchor);
    if (end != map_.target_anchor && !scheduled_[static_cast<size_t>(end)]) {
      epilogue_ = static_cast<StageId>(end);
    }
  }
  inline_leftovers();
  for (size_t i = 0; i < trace_.size(); ++i) {
    donor_.apply(trace_[i]);
    open_report(static_cast<int>(i));
    std::visit([&](const auto& step) { on(step); }, trace_[i]);
    close_report();
    if (epilogue_loop_ != kNoLoop) attach_epilogue();
  }
  schedule_leftovers();
  share_between_threads();
}

Retargeted Retargeter::result() {
  Retargeted r;
  r.candidate = {std::make_shared<const Sketch>(target_.sketch()), target_.start()};
  r.steps = std::move(reports_);
  r.factors = std::move(factors_);
  return r;
}

void Retargeter::grow(StageId stage) {
  images_[static_cast<size_t>(stage)].resize(donor_.stage(stage).loops.size());
}

bool Retargeter::is_leaf(StageId ts, LoopId loop) const {
  const std::vector<LoopId>& order = target_.stage(ts).order;
  return std::find(order.begin(), order.end(), loop) != order.end();
}

Retargeter::Image Retargeter::leaves(StageId ts, const Image& loops) const {
  Image kept;
  for (LoopId l : loops) {
    if (is_leaf(ts, l)) kept.push_back(l);
  }
  return kept;
}

LoopId Retargeter::resolve(StageId ts, Image& loops, Image* outer) {
  outer->clear();
  if (loops.size() == 1) return loops[0];
  if (options_.fuse_groups && attempt(FuseStep{ts, loops})) {
    mend(FateReason::FusedFirst);
    loops = {static_cast<LoopId>(target_.stage(ts).loops.size() - 1)};
    return loops[0];
  }
  mend(FateReason::InnerOfGroup);
  outer->assign(loops.begin(), loops.end() - 1);
  return loops.back();
}

std::vector<LoopId> Retargeter::attach_points(StageId donor_stage, LoopId loop) const {
  const StageId ts = to(donor_stage);
  const std::vector<LoopId>& order = donor_.stage(donor_stage).order;
  std::vector<LoopId> points;
  auto at = std::find(order.begin(), order.end(), loop);
  if (at == order.end()) return points;
  for (++at; at != order.begin();) {
    const Image& loops = images_[static_cast<size_t>(donor_stage)][static_cast<size_t>(*--at)];
    for (size_t i = loops.size(); i-- > 0;) {
      const bool known = std::find(points.begin(), points.end(), loops[i]) != points.end();
      if (!known && is_leaf(ts, loops[i])) points.push_back(loops[i]);
    }
  }
  return points;
}

bool Retargeter::is_foreign(StageId stage, LoopId loop) const {
  for (const Image& known : images_[static_cast<size_t>(stage)]) {
    if (std::find(known.begin(), known.end(), loop) != known.end()) return false;
  }
  return true;
}

void Retargeter::replace(StageId stage, const Image& loops, LoopId by) {
  for (Image& known : images_[static_cast<size_t>(stage)]) {
    Image now;
    for (LoopId l : known) {
      const bool gone = std::find(loops.begin(), loops.end(), l) != loops.end();
      const LoopId kept = gone ? by : l;
      if (std::find(now.begin(), now.end(), kept) == now.end()) now.push_back(kept);
    }
    known = std::move(now);
  }
}

void Retargeter::map_fresh(StageId stage, const Images& before, size_t first_fresh) {
  grow(stage);
  const StageId ts = to(stage);
  const Stage& from = donor_.stage(stage);
  const Stage& now = target_.stage(ts);
  for (size_t l = 0; l < from.loops.size(); ++l) {
    const LoopId old = from.loops[l].copy_of;
    if (old == kNoLoop || static_cast<size_t>(old) >= before.size()) continue;
    Image& fresh = images_[static_cast<size_t>(stage)][l];
    for (LoopId t : before[static_cast<size_t>(old)]) {
      for (size_t k = first_fresh; k < now.loops.size(); ++k) {
        const LoopId id = static_cast<LoopId>(k);
        const bool known = std::find(fresh.begin(), fresh.end(), id) != fresh.end();
        if (now.loops[k].copy_of == t && !known) fresh.push_back(id);
      }
    }
  }
}

StageId Retargeter::add_stage(StageId ts, Images images) {
  const StageId added = static_cast<StageId>(donor_.size() - 1);
  stage_to_.resize(static_cast<size_t>(donor_.size()), kNoStage);
  images_.resize(static_cast<size_t>(donor_.size()));
  stage_to_.back() = ts;
  images_.back() = std::move(images);
  grow(added);
  return added;
}

std::vector<LoopId> Retargeter::full_order(StageId stage, StageId ts, bool* extras) const {
  std::vector<LoopId> order;
  for (LoopId l : donor_.stage(stage).order) {
    for (LoopId t : images_[static_cast<size_t>(stage)][static_cast<size_t>(l)]) {
      if (is_leaf(ts, t) && std::find(order.begin(), order.end(), t) == order.end()) {
        order.push_back(t);
      }
    }
  }
  std::vector<LoopId> spatial, reduce;
  for (LoopId t : target_.stage(ts).order) {
    if (std::find(order.begin(), order.end(), t) != order.end()) continue;
    (target_.loop(ts, t).reduce ? reduce : spatial).push_back(t);
  }
  *extras = !spatial.empty() || !reduce.empty();
  // Reductions that the donor does not have go around the innermost one that it has, but not
  // between parts of that; where the anchor took the place of its consumer, inside the outer loops.
  size_t at = order.size();
  bool found = false;
  for (size_t i = order.size(); i-- > 0 && !found;) {
    if (!target_.loop(ts, order[i]).reduce) continue;
    found = true;
    const std::vector<int> axes = axes_of_loop(target_.stage(ts), order[i]);
    at = i;
    while (at > 0 && target_.loop(ts, order[at - 1]).reduce &&
           axes_of_loop(target_.stage(ts), order[at - 1]) == axes) {
      --at;
    }
  }
  if (!found && stage == collapsed_ && to(stage) == ts) {
    const std::vector<LoopId> points = attach_points(stage, collapse_loop_);
    if (!points.empty()) {
      const auto loop = std::find(order.begin(), order.end(), points[0]);
      at = static_cast<size_t>(loop - order.begin()) + 1;
    }
  }
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), reduce.begin(), reduce.end());
  order.insert(order.begin(), spatial.begin(), spatial.end());
  return order;
}

bool Retargeter::attempt(Step step) {
  const std::optional<Rejection> rejection = target_.attempt(std::move(step));
  if (!rejection) return true;
  rejection_ = *rejection;
  rejection_.step = static_cast<int16_t>(target_.sketch().steps.size());
  if (rejection_.code == RejectionCode::TooManyRegisters) too_many_registers_ = true;
  return false;
}

void Retargeter::mend(FateReason reason) {
  report_.fate = StepFate::Mended;
  report_.reason = reason;
}

void Retargeter::drop(FateReason reason) {
  report_.fate = StepFate::Dropped;
  report_.reason = reason;
}

void Retargeter::drop_rejected() {
  drop(FateReason::Rejected);
  report_.rejection = rejection_;
}

void Retargeter::open_report(int donor_step) {
  report_ = {};
  report_.donor_step = donor_step;
  report_.first = static_cast<int>(target_.sketch().steps.size());
}

void Retargeter::close_report() {
  report_.count = static_cast<int>(target_.sketch().steps.size()) - report_.first;
  reports_.push_back(report_);
}

void Retargeter::added(FateReason reason, int first) {
  StepReport report{-1, StepFate::Added, reason, first, 0, {}};
  report.count = static_cast<int>(target_.sketch().steps.size()) - first;
  reports_.push_back(report);
}

Num Retargeter::factor_slot(const FactorReport& factor, SlotKind kind) {
  const size_t n = target_.sketch().slots.size();
  const Num slot = target_.slot("number " + std::to_string(n), kind, factor.factor.target);
  factors_.push_back(factor);
  factors_.back().slot = slot.slot;
  return slot;
}

}  // namespace espalier
