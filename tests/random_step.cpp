#include "random_step.h"

#include <algorithm>
#include <array>

#include "step_kind.h"

namespace espalier {
namespace {

class StepDrawer {
 public:
  StepDrawer(Rng& rng, const State& state, const StepHints& hints)
      : rng_(rng), state_(state), hints_(hints), stages_(computed_stages(state)) {}

  std::optional<Step> draw(int kind) {
    if (stages_.empty()) return std::nullopt;
    const int plain = static_cast<int>(std::variant_size_v<Step>) - 1;
    if (kind >= plain) return annotate(kAnnotations[kind - plain]);
    std::optional<Step> result;
    // The alternative of that kind is found by its number.
    [&]<size_t... I>(std::index_sequence<I...>) {
      ((kind_of(Step{std::in_place_index<I>}) == kind
            ? static_cast<void>(result = of(std::variant_alternative_t<I, Step>{}))
            : void()),
       ...);
    }(std::make_index_sequence<std::variant_size_v<Step>>{});
    return result;
  }

 private:
  const Stage& stage(StageId s) const { return state_.stage(s); }
  const Loop& loop(StageId s, LoopId l) const { return stage(s).loops[static_cast<size_t>(l)]; }
  const StageInfo& info(StageId s) const { return state_.dag().stage(stage(s).op); }

  StageId any_stage() { return hints_.stage != kNoStage ? hints_.stage : rng_.pick(stages_); }
  StageId stage_with_loops() {
    for (int i = 0; i < 4; ++i) {
      const StageId s = any_stage();
      if (!stage(s).order.empty()) return s;
    }
    return kNoStage;
  }
  LoopId any_loop(StageId s) { return rng_.pick(stage(s).order); }
  // The innermost loops more often than others, or the outermost ones.
  LoopId biased_loop(StageId s, bool inner) {
    const std::vector<LoopId>& order = stage(s).order;
    size_t i = 0;
    while (i + 1 < order.size() && rng_.chance(0.4)) ++i;
    return order[inner ? order.size() - 1 - i : i];
  }
  // The last place where something can be attached, or kNoLoop.
  LoopId loop_or_none(StageId s) {
    return stage(s).order.empty() || rng_.chance(0.15) ? kNoLoop : any_loop(s);
  }

  Step of(AnnotateStep) { return annotate(Annotation::Partition).value_or(AnnotateStep{}); }

  std::optional<Step> annotate(Annotation a) {
    if (a == Annotation::NonTemporal || a == Annotation::Registers) {
      std::vector<StageId> attached;
      for (StageId s : stages_) {
        if (!stage(s).stored_at_root) attached.push_back(s);
      }
      const bool any = attached.empty() || a == Annotation::NonTemporal || rng_.chance(0.1);
      return AnnotateStep{any ? any_stage() : rng_.pick(attached), kNoLoop, a, {}};
    }
    if (a == Annotation::Vectorize && rng_.chance(0.9)) return vectorize();
    const StageId s = stage_with_loops();
    if (s == kNoStage) return std::nullopt;
    AnnotateStep step{s, any_loop(s), a, {}};
    if (a == Annotation::Parallel) step.loop = biased_loop(s, false);
    if (a == Annotation::Unroll) step.loop = biased_loop(s, true);
    if (a == Annotation::Unroll && rng_.chance(0.3)) step.arg.value = rng_.range(1, 16);
    if (a == Annotation::Prefetch) step.arg.value = rng_.range(0, 4);
    return step;
  }

  // A spatial loop of a stage without lanes, rather an inner one.
  std::optional<Step> vectorize() {
    std::vector<StageId> stages;
    for (StageId s : stages_) {
      const std::vector<LoopId>& order = stage(s).order;
      const bool lanes =
          std::any_of(order.begin(), order.end(), [&](LoopId l) { return loop(s, l).vectorize; });
      if (!lanes && (hints_.stage == kNoStage || hints_.stage == s)) stages.push_back(s);
    }
    if (stages.empty()) return std::nullopt;
    const StageId s = rng_.pick(stages);
    std::vector<LoopId> loops;
    for (LoopId l : stage(s).order) {
      const Loop& lp = loop(s, l);
      if (!lp.reduce && !lp.parallel && !lp.unroll) loops.push_back(l);
    }
    if (loops.empty()) return std::nullopt;
    const LoopId l = rng_.chance(0.6) ? loops.back() : rng_.pick(loops);
    return AnnotateStep{s, l, Annotation::Vectorize, {}};
  }

  std::optional<Step> of(SplitStep) {
    const StageId s = stage_with_loops();
    if (s == kNoStage || stage(s).loops.size() > 40) return std::nullopt;
    SplitStep step{s, any_loop(s), {}};
    const int64_t factors = rng_.chance(0.65) ? 1 : rng_.chance(0.85) ? 2 : 3;
    int64_t product = 1;
    for (int64_t i = 0; i < factors; ++i) {
      int64_t f = draw_factor(rng_, state_, s, step.loop, hints_.even, i == 0 ? 0 : 16);
      const int64_t extent = loop(s, step.loop).extent;
      if (hints_.even && (extent == 0 || extent % (product * f) != 0)) f = 1;
      product *= f;
      step.factors.push_back({f});
    }
    return step;
  }

  std::optional<Step> of(FuseStep) {
    const StageId s = stage_with_loops();
    if (s == kNoStage) return std::nullopt;
    const std::vector<LoopId>& order = stage(s).order;
    if (order.size() < 2) return std::nullopt;
    const size_t n = order.size() > 2 && rng_.chance(0.3) ? 3 : 2;
    const size_t at = rng_.below(order.size() - n + 1);
    FuseStep step{s, {}};
    for (size_t i = 0; i < n; ++i) step.loops.push_back(order[at + i]);
    if (rng_.chance(0.03)) std::swap(step.loops[0], step.loops[1]);
    return step;
  }

  std::optional<Step> of(ReorderStep) {
    const StageId s = stage_with_loops();
    if (s == kNoStage || stage(s).order.size() < 2) return std::nullopt;
    std::vector<LoopId> order = stage(s).order;
    rng_.shuffle(order);
    if (rng_.chance(0.5)) order.resize(static_cast<size_t>(rng_.range(2, std::ssize(order))));
    return ReorderStep{s, std::move(order)};
  }

  // A nest that some reader of the stage is part of.
  StageId around_reader(StageId s) {
    std::vector<StageId> around;
    for (StageId c : stages_) {
      for (const StageRead& r : stage(c).reads) {
        if (r.source != s) continue;
        for (StageId t = c;; t = stage(t).attach_stage) {
          around.push_back(t);
          if (stage(t).attach == AttachKind::Root) break;
        }
      }
    }
    return around.empty() || rng_.chance(0.05) ? any_stage() : rng_.pick(around);
  }

  // No output, and untouched, as far as a glance can tell.
  bool is_fresh(StageId s) const {
    const Stage& st = stage(s);
    const bool touched = std::any_of(st.loops.begin(), st.loops.end(), [](const Loop& l) {
      return l.parallel || l.vectorize || l.unroll || l.partition || l.prefetch != 0;
    });
    return !touched && st.attach == AttachKind::Root &&
           (st.role == StageRole::Partial ||
            (st.role == StageRole::Compute && st.relations.empty() && !info(s).is_output));
  }

  // Mostly a stage that others read and that can still be moved.
  StageId producer(bool elementwise = false) {
    std::vector<StageId> read;
    for (StageId s : stages_) {
      if (!is_fresh(s) || (elementwise && info(s).reduce() != nullptr)) continue;
      for (StageId c : stages_) {
        const auto& reads = stage(c).reads;
        if (std::any_of(reads.begin(), reads.end(),
                        [&](const StageRead& r) { return r.source == s; })) {
          read.push_back(s);
          break;
        }
      }
    }
    if (rng_.chance(0.05)) return any_stage();
    return read.empty() ? kNoStage : rng_.pick(read);
  }

  std::optional<Step> of(ComputeAtStep) {
    const StageId s = producer();
    if (s == kNoStage) return std::nullopt;
    const StageId target = around_reader(s);
    if (stage(target).order.empty()) return std::nullopt;
    return ComputeAtStep{s, target, any_loop(target)};
  }

  std::optional<Step> of(ComputeRootStep) {
    std::vector<StageId> attached;
    for (StageId s : stages_) {
      if (stage(s).attach == AttachKind::At) attached.push_back(s);
    }
    if (attached.empty() && rng_.chance(0.9)) return std::nullopt;
    return ComputeRootStep{attached.empty() ? any_stage() : rng_.pick(attached)};
  }

  // Consumers of the shape of what they read.
  std::vector<std::pair<StageId, StageId>> elementwise_pairs() {
    std::vector<std::pair<StageId, StageId>> pairs;
    for (StageId c : stages_) {
      for (const StageRead& r : stage(c).reads) {
        const Stage& source = stage(r.source);
        if (r.kind != StageRead::Kind::Element || source.role == StageRole::Input) continue;
        if (info(c).tensor->shape == info(r.source).tensor->shape && info(c).reduce() == nullptr) {
          pairs.emplace_back(c, r.source);
        }
      }
    }
    return pairs;
  }

  std::optional<Step> of(ComputeAfterStep) {
    const auto pairs = elementwise_pairs();
    if (pairs.empty()) return std::nullopt;
    const auto [consumer, target] = rng_.pick(pairs);
    if (stage(target).order.empty()) return std::nullopt;
    return ComputeAfterStep{consumer, target, any_loop(target)};
  }

  std::optional<Step> of(StoreAtStep) {
    std::vector<StageId> attached;
    for (StageId s : stages_) {
      if (stage(s).attach == AttachKind::At) attached.push_back(s);
    }
    if (attached.empty() || rng_.chance(0.15)) {
      const StageId s = any_stage();
      return store_at(s, s);
    }
    const StageId s = rng_.pick(attached);
    StageId target = stage(s).attach_stage;
    while (stage(target).attach != AttachKind::Root && rng_.chance(0.5)) {
      target = stage(target).attach_stage;
    }
    return store_at(s, target);
  }
  Step store_at(StageId s, StageId target) {
    const LoopId l = loop_or_none(target);
    return StoreAtStep{s, l == kNoLoop ? kNoStage : target, l};
  }

  std::optional<Step> of(ShareStep) {
    auto pairs = elementwise_pairs();
    if (rng_.chance(0.9)) {
      std::erase_if(pairs, [&](const auto& p) {
        return info(p.second).is_output || info(p.second).consumers.size() > 1 ||
               stage(p.second).attach != AttachKind::Root;
      });
    }
    if (pairs.empty()) return std::nullopt;
    const auto [consumer, source] = rng_.pick(pairs);
    return ShareStep{source, consumer};
  }

  std::optional<Step> of(InlineStep) {
    const StageId s = producer(true);
    if (s == kNoStage) return std::nullopt;
    return InlineStep{s};
  }

  std::optional<Step> of(CacheWriteStep) {
    const StageId s = any_stage();
    return CacheWriteStep{s, loop_or_none(s)};
  }

  // Axes of the definition that the loop is made of.
  void collect_axes(StageId s, LoopId l, std::vector<LoopId>& out) {
    const int16_t origin = loop(s, l).origin;
    if (origin < 0) {
      out.push_back(l);
      return;
    }
    const Relation& r = stage(s).relations[static_cast<size_t>(origin)];
    if (!r.is_fuse) return collect_axes(s, r.whole, out);
    for (LoopId part : r.parts) collect_axes(s, part, out);
  }

  bool uses(StageId s, const StageRead& r, LoopId l) {
    std::vector<LoopId> axes;
    collect_axes(s, l, axes);
    return std::any_of(axes.begin(), axes.end(), [&](LoopId a) {
      return std::any_of(r.linear.begin(), r.linear.end(), [&](const LinearIndex& index) {
        return static_cast<size_t>(a) < index.coef.size() && index.coef[static_cast<size_t>(a)];
      });
    });
  }

  std::vector<LayoutEntry> draw_layout(StageId s, const StageRead& r, LoopId at) {
    std::vector<LayoutEntry> layout;
    // By loops, by dimensions, or by some of both.
    const double by_loops = rng_.chance(0.4) ? 1 : rng_.chance(0.6) ? 0 : 0.5;
    bool below = at == kNoLoop;
    std::vector<bool> covered(r.linear.size(), false);
    for (LoopId l : stage(s).order) {
      if (below && uses(s, r, l) && rng_.chance(by_loops)) {
        layout.push_back({LayoutEntry::Kind::Loop, l, {}});
      }
      below = below || l == at;
    }
    static constexpr std::array<int64_t, 6> kBlocks = {2, 3, 4, 8, 16, 5};
    for (size_t d = 0; d < r.linear.size(); ++d) {
      if (rng_.chance(by_loops)) continue;
      const auto dim = static_cast<int16_t>(d);
      if (rng_.chance(0.35)) {
        const Num block{rng_.pick(kBlocks)};
        layout.push_back({LayoutEntry::Kind::DimOuter, dim, block});
        layout.push_back({LayoutEntry::Kind::DimInner, dim, block});
      } else {
        layout.push_back({LayoutEntry::Kind::Dim, dim, {}});
      }
    }
    rng_.shuffle(layout);
    return layout;
  }

  std::optional<Step> of(CacheReadStep) {
    const StageId s = any_stage();
    if (stage(s).reads.empty()) return std::nullopt;
    const size_t read = rng_.below(stage(s).reads.size());
    const LoopId at = loop_or_none(s);
    return CacheReadStep{s, static_cast<int16_t>(read), at,
                         draw_layout(s, stage(s).reads[read], at)};
  }

  std::optional<Step> of(PackConstantStep) {
    std::vector<std::pair<StageId, size_t>> reads;
    for (StageId s : stages_) {
      if (hints_.stage != kNoStage && hints_.stage != s) continue;
      for (size_t i = 0; i < stage(s).reads.size(); ++i) {
        const StageRead& r = stage(s).reads[i];
        if (r.producer < 0 || r.kind != StageRead::Kind::Element) continue;
        if (state_.dag().stage(r.producer).tensor->kind == TensorKind::Constant) {
          reads.emplace_back(s, i);
        }
      }
    }
    if (reads.empty()) return std::nullopt;
    const auto [s, read] = rng_.pick(reads);
    return PackConstantStep{s, static_cast<int16_t>(read),
                            draw_layout(s, stage(s).reads[read], kNoLoop)};
  }

  std::optional<Step> of(RfactorStep) {
    std::vector<StageId> reductions;
    for (StageId s : stages_) {
      if (info(s).reduce() != nullptr) reductions.push_back(s);
    }
    if (reductions.empty()) return std::nullopt;
    const StageId s = rng_.pick(reductions);
    std::vector<LoopId> loops;
    for (LoopId l : stage(s).order) {
      if (loop(s, l).reduce) loops.push_back(l);
    }
    if (loops.empty()) return std::nullopt;
    rng_.shuffle(loops);
    loops.resize(loops.size() > 1 && rng_.chance(0.4) ? 2 : 1);
    return RfactorStep{s, std::move(loops)};
  }

  std::optional<Step> of(PadStep) {
    const StageId s = stage_with_loops();
    if (s == kNoStage) return std::nullopt;
    return PadStep{s, any_loop(s), {rng_.range(1, 9)}};
  }

  Rng& rng_;
  const State& state_;
  const StepHints& hints_;
  std::vector<StageId> stages_;
};

}  // namespace

std::vector<StageId> computed_stages(const State& state) {
  std::vector<StageId> stages;
  for (StageId s = 0; s < state.size(); ++s) {
    const Stage& st = state.stage(s);
    if (st.role != StageRole::Input && st.attach != AttachKind::Inlined) stages.push_back(s);
  }
  return stages;
}

int64_t draw_factor(Rng& rng, const State& state, StageId s, LoopId l, bool even, int64_t limit) {
  static constexpr std::array<int64_t, 10> kFactors = {1, 2, 3, 4, 5, 7, 8, 13, 16, 32};
  const int64_t extent = state.stage(s).loops[static_cast<size_t>(l)].extent;
  if (even) {
    std::vector<int64_t> divisors;
    for (int64_t f = 1; f <= extent && (limit == 0 || f <= limit); ++f) {
      if (extent % f == 0) divisors.push_back(f);
    }
    return divisors.empty() ? 1 : rng.pick(divisors);
  }
  int64_t f = rng.pick(kFactors);
  switch (rng.below(8)) {
    case 0: f = extent; break;
    case 1: f = extent + rng.range(1, 3); break;
    case 2: f = extent - 1; break;
    case 3: f = rng.range(1, std::max<int64_t>(1, extent)); break;
    default: break;
  }
  if (limit != 0 && f > limit) f = rng.pick(kFactors) % limit;
  return std::max<int64_t>(1, f);
}

std::optional<Step> draw_step(Rng& rng, const State& state, int kind, const StepHints& hints) {
  return StepDrawer(rng, state, hints).draw(kind);
}

}  // namespace espalier
