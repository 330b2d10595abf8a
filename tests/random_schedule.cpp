#include "random_schedule.h"

#include <algorithm>
#include <utility>

#include "espalier/support/check.h"
#include "random_step.h"

namespace espalier {
namespace {

class Drawer {
 public:
  Drawer(Rng& rng, const Task& task, const DrawOptions& options, Tally& tally)
      : rng_(rng), options_(options), tally_(tally), state_(State::initial(task)) {}

  State draw() {
    const int64_t steps = rng_.range(1, 10);
    // Stages are moved before they are changed.
    const bool moves = is_move(options_.focus) && rng_.chance(0.85);
    const int64_t at = moves ? 0 : rng_.range(0, steps - 1);
    if (!moves && rng_.chance(0.4)) tile();
    for (int64_t i = 0; i < steps; ++i) {
      if (i == at && options_.focus >= 0) {
        focus(options_.focus);
      } else {
        attempt(draw_kind());
      }
    }
    return std::move(state_);
  }

 private:
  int draw_kind() {
    static constexpr int kWeights[] = {22, 8, 14, 10, 1, 4, 4, 2, 5, 7, 8, 4, 4, 3,  // steps
                                       5,  8, 7,  2,  4, 1, 3};                      // annotations
    static_assert(std::size(kWeights) == kStepKinds);
    int total = 0;
    for (int w : kWeights) total += w;
    auto draw = static_cast<int>(rng_.below(static_cast<uint64_t>(total)));
    int kind = 0;
    while (draw >= kWeights[kind]) draw -= kWeights[kind++];
    return kind;
  }

  template <class S>
  static int of() {
    return kind_of(Step{S{}});
  }
  static int of(Annotation a) { return kind_of(Step{AnnotateStep{0, kNoLoop, a, {}}}); }

  static bool is_move(int kind) {
    return kind == of<ComputeAtStep>() || kind == of<InlineStep>() ||
           kind == of<ComputeRootStep>() || kind == of<RfactorStep>() || kind == of<PadStep>() ||
           kind == of<ShareStep>() || kind == of<ComputeAfterStep>() || kind == of<StoreAtStep>();
  }

  // Draws steps of the kind until one stays, a few times.
  bool attempt(int kind, StageId stage = kNoStage, int times = 1) {
    if (kind == of<PadStep>() && !options_.pad) return false;
    for (int i = 0; i < times; ++i) {
      const std::optional<Step> step = draw_step(rng_, state_, kind, {stage, options_.even});
      if (step && apply(*step)) return true;
    }
    return false;
  }

  bool apply(const Step& step) {
    const auto kind = static_cast<size_t>(kind_of(step));
    if (options_.before_step) options_.before_step(state_, step);
    const State before = state_;
    if (const std::optional<Rejection> r = state_.apply(step)) {
      ++tally_.rejected[kind][static_cast<size_t>(r->code)];
      ESP_CHECK(state_.trace() == before.trace(), "a rejected step changed the trace");
      return false;
    }
    if (iterations(state_) > options_.max_work || code_size(state_) > options_.max_code) {
      ++tally_.undone[kind];
      state_ = before;
      return false;
    }
    ++tally_.applied[kind];
    return true;
  }

  // What has to be there before a step of the kind makes sense, and then the step.
  void focus(int kind) {
    if (kind == of<StoreAtStep>() || kind == of<ComputeRootStep>()) {
      attempt(of<ComputeAtStep>(), kNoStage, 4);
    } else if (kind == of(Annotation::Registers)) {
      tile();
    } else if (kind == of<ShareStep>() || kind == of<ComputeAfterStep>()) {
      if (rng_.chance(0.5)) attempt(of<SplitStep>(), kNoStage, 2);
      if (rng_.chance(0.5)) attempt(of<CacheWriteStep>(), kNoStage, 3);
    } else if (kind == of(Annotation::Vectorize) || kind == of<RfactorStep>() ||
               kind == of(Annotation::Unroll)) {
      attempt(of<SplitStep>(), kNoStage, 2);
    }
    if (!attempt(kind, kNoStage, 8)) return;
    const StageId about = stage_of(state_.trace().back());
    for (int i = 0; i < 8; ++i) {
      const std::vector<StageId> nest = stages_around(state_, about);
      if (has(tails_of(state_, nest), options_.tail)) return;
      const StageId s = rng_.pick(nest);
      if (options_.tail == TailKind::Split || options_.tail == TailKind::Vector) {
        attempt(of<SplitStep>(), s);
      }
      if (options_.tail == TailKind::Vector) attempt(of(Annotation::Vectorize), s);
    }
  }

  // The usual way to a fast nest: axes tiled, tiles inside, an accumulator, lanes and straight
  // code, copies of what is read.
  void tile() {
    const std::vector<StageId> stages = computed_stages(state_);
    std::vector<StageId> reductions;
    for (StageId s : stages) {
      if (state_.dag().stage(state_.stage(s).op).reduce() != nullptr) reductions.push_back(s);
    }
    if (stages.empty()) return;
    const StageId s = rng_.pick(reductions.empty() || rng_.chance(0.2) ? stages : reductions);
    const std::vector<LoopId> loops = state_.stage(s).order;
    std::vector<LoopId> outer, reduce_outer, inner, reduce_inner;
    for (LoopId l : loops) {
      const bool reduce = state_.stage(s).loops[static_cast<size_t>(l)].reduce;
      auto next = static_cast<LoopId>(state_.stage(s).loops.size());
      const Num factor{draw_factor(rng_, state_, s, l, options_.even, reduce ? 0 : 16)};
      const bool split = rng_.chance(reduce ? 0.5 : 0.75) && apply(SplitStep{s, l, {factor}});
      (reduce ? reduce_outer : outer).push_back(split ? next++ : l);
      if (split) (reduce ? reduce_inner : inner).push_back(next);
    }
    std::vector<LoopId> order = outer;
    order.insert(order.end(), reduce_outer.begin(), reduce_outer.end());
    order.insert(order.end(), reduce_inner.begin(), reduce_inner.end());
    order.insert(order.end(), inner.begin(), inner.end());
    if (order.empty()) return;
    if (rng_.chance(0.3)) std::swap(order[0], order[rng_.below(order.size())]);
    if (order.size() > 1) apply(ReorderStep{s, order});
    StageId accumulator = s;
    if (rng_.chance(0.7) && !outer.empty()) {
      const LoopId at = rng_.chance(0.6) || reduce_outer.empty() ? outer.back() : reduce_outer[0];
      const auto next = static_cast<StageId>(state_.size());
      if (apply(CacheWriteStep{s, at})) accumulator = next;
    }
    for (size_t i = inner.size(); i-- > 0;) {
      const Annotation a = i + 1 == inner.size() ? Annotation::Vectorize : Annotation::Unroll;
      if (rng_.chance(0.8)) apply(AnnotateStep{accumulator, inner[i], a, {}});
    }
    if (accumulator != s && rng_.chance(0.6)) {
      apply(AnnotateStep{accumulator, kNoLoop, Annotation::Registers, {}});
      attempt(of(Annotation::Vectorize), s);
    }
    if (rng_.chance(0.4)) attempt(of<CacheReadStep>(), accumulator, 3);
    if (rng_.chance(0.4)) attempt(of<PackConstantStep>(), accumulator, 2);
    if (rng_.chance(0.4)) attempt(of<ComputeAfterStep>(), kNoStage, 2);
    if (rng_.chance(0.4)) attempt(of(Annotation::Parallel), s, 2);
    if (rng_.chance(0.3)) attempt(of(Annotation::Partition), s, 2);
  }

  Rng& rng_;
  const DrawOptions& options_;
  Tally& tally_;
  State state_;
};

}  // namespace

State random_schedule(Rng& rng, const Task& task, const DrawOptions& options, Tally& tally) {
  return Drawer(rng, task, options, tally).draw();
}

double iterations(const State& state) {
  double total = 0;
  for (StageId s : computed_stages(state)) {
    double n = 1;
    for (LoopId l : state.stage(s).order) {
      n *= static_cast<double>(state.stage(s).loops[static_cast<size_t>(l)].extent);
    }
    StageId inner = s;
    while (state.stage(inner).attach == AttachKind::At ||
           state.stage(inner).attach == AttachKind::After) {
      const Stage& around = state.stage(state.stage(inner).attach_stage);
      for (LoopId l : around.order) {
        n *= static_cast<double>(around.loops[static_cast<size_t>(l)].extent);
        if (l == state.stage(inner).attach_loop) break;
      }
      inner = state.stage(inner).attach_stage;
    }
    total += n;
  }
  return total;
}

}  // namespace espalier
