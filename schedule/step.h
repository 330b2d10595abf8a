// Steps: the typed primitives that a schedule is made of.
//
// A trace (a list of steps) is the truth about a schedule; State (schedule/state.h) is the value it
// denotes. Stages and loops are named by ids that are given in creation order and never shift:
// stage ids start with the DAG's own stages, a step that adds a stage takes the next one; in each
// stage loop ids start with its axes (spatial, then reduction), then come the parts of each split
// (outermost first) and the result of each fuse. Which id a step creates depends on the steps
// before it only, never on numbers. docs/steps.md shows every step before and after.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace espalier {

using StageId = int16_t;
using LoopId = int16_t;
inline constexpr StageId kNoStage = -1;
inline constexpr LoopId kNoLoop = -1;

// A number in a step: written down (slot < 0), or one of the candidate's decisions.
struct Num {
  int64_t value = 0;
  int16_t slot = -1;
  static Num of_slot(int s) { return {0, static_cast<int16_t>(s)}; }
  friend bool operator==(const Num&, const Num&) = default;
};

// loop -> one outer loop and factors.size() inner ones. The outer extent is ceil(E / product);
// iterations whose recovered coordinate is >= E do not happen.
struct SplitStep {
  static constexpr std::string_view kName = "split";
  StageId stage = kNoStage;
  LoopId loop = kNoLoop;
  std::vector<Num> factors = {};  // extents of the inner loops, outermost of them first; each >= 1
  friend bool operator==(const SplitStep&, const SplitStep&) = default;
};
// Adjacent loops (in this order, outermost first, all spatial or all reduction) -> one.
struct FuseStep {
  static constexpr std::string_view kName = "fuse";
  StageId stage = kNoStage;
  std::vector<LoopId> loops = {};
  friend bool operator==(const FuseStep&, const FuseStep&) = default;
};
// The named loops take, in the given order, the places that they hold between them.
struct ReorderStep {
  static constexpr std::string_view kName = "reorder";
  StageId stage = kNoStage;
  std::vector<LoopId> order = {};
  friend bool operator==(const ReorderStep&, const ReorderStep&) = default;
};
enum class Annotation : uint8_t {
  Parallel,     // a loop: iterations over the pool's slots; never a reduction loop
  Vectorize,    // a loop: lanes; on a reduction loop only as the final combine of lanes
  Unroll,       // a loop: straight code if its extent is at most `arg` (0: always)
  Prefetch,     // a loop: what the innermost reads of it touch `arg` iterations ahead
  Partition,    // a loop: low, interior and high parts, the interior without guards
  NonTemporal,  // a stage (loop == kNoLoop): its stores bypass the caches
  Registers,    // a stage (loop == kNoLoop): kept in SSA values
};
constexpr bool has_loop(Annotation a) {
  return a != Annotation::NonTemporal && a != Annotation::Registers;
}
constexpr bool has_arg(Annotation a) {
  return a == Annotation::Unroll || a == Annotation::Prefetch;
}
struct AnnotateStep {
  static constexpr std::string_view kName = "annotate";
  StageId stage = kNoStage;
  LoopId loop = kNoLoop;
  Annotation annotation = Annotation::Parallel;
  Num arg = {};
  // What the annotation has no use for does not count.
  friend bool operator==(const AnnotateStep& a, const AnnotateStep& b) {
    return a.stage == b.stage && a.annotation == b.annotation &&
           (!has_loop(a.annotation) || a.loop == b.loop) &&
           (!has_arg(a.annotation) || a.arg == b.arg);
  }
};
// The stage is computed inside `loop` of `target`, which encloses all its consumers, on the region
// that they need there. It must not have been split, fused or annotated before.
struct ComputeAtStep {
  static constexpr std::string_view kName = "compute_at";
  StageId stage = kNoStage, target = kNoStage;
  LoopId loop = kNoLoop;
  friend bool operator==(const ComputeAtStep&, const ComputeAtStep&) = default;
};
struct ComputeRootStep {
  static constexpr std::string_view kName = "compute_root";
  StageId stage = kNoStage;
  friend bool operator==(const ComputeRootStep&, const ComputeRootStep&) = default;
};
// Elementwise consumer `stage` of `target` runs at the end of the body of `loop` of `target`, on
// the region just completed, when all reduction loops of `target` at or outside `loop` are at
// their last value.
struct ComputeAfterStep {
  static constexpr std::string_view kName = "compute_after";
  StageId stage = kNoStage, target = kNoStage;
  LoopId loop = kNoLoop;
  friend bool operator==(const ComputeAfterStep&, const ComputeAfterStep&) = default;
};
// The buffer of an attached stage lives at a loop further out than the one that computes it.
struct StoreAtStep {
  static constexpr std::string_view kName = "store_at";
  StageId stage = kNoStage, target = kNoStage;
  LoopId loop = kNoLoop;  // kNoLoop: outside all loops, whatever `target` says
  friend bool operator==(const StoreAtStep& a, const StoreAtStep& b) {
    return a.stage == b.stage && a.loop == b.loop && (a.loop == kNoLoop || a.target == b.target);
  }
};
// `stage` keeps its values in the buffer of `with`, which reads it only at its own index.
struct ShareStep {
  static constexpr std::string_view kName = "share";
  StageId stage = kNoStage, with = kNoStage;
  friend bool operator==(const ShareStep&, const ShareStep&) = default;
};
struct InlineStep {
  static constexpr std::string_view kName = "inline";
  StageId stage = kNoStage;
  friend bool operator==(const InlineStep&, const InlineStep&) = default;
};
// Adds an accumulator stage. `stage` keeps its id and the loops down to `loop` (kNoLoop: none of
// them); the loops below move to the accumulator (with their ids); `stage` gets fresh write-back
// loops, a copy of the moved spatial ones. With reduction loops left outside, the write-back
// combines into what is there, except for the first of their iterations.
struct CacheWriteStep {
  static constexpr std::string_view kName = "cache_write";
  StageId stage = kNoStage;
  LoopId loop = kNoLoop;
  friend bool operator==(const CacheWriteStep&, const CacheWriteStep&) = default;
};
// One dimension of a packed copy: a loop of the reading stage below the attach loop (the copy is
// indexed by the loop's value, rounded up to whole tiles), or a dimension of the source (the
// region needed there, stored once), whole or cut into blocks of `block` elements: DimOuter counts
// the blocks (rounded up), DimInner the elements of one. [dim 3 outer 32, dim 0, dim 1, dim 2,
// dim 3 inner 32] is the usual layout of convolution weights in panels of 32 output channels.
struct LayoutEntry {
  enum class Kind : uint8_t { Loop, Dim, DimOuter, DimInner } kind = Kind::Loop;
  int16_t index = 0;  // LoopId, or the source's dimension
  Num block = {};     // DimOuter and DimInner; the same in both
  bool is_block() const { return kind == Kind::DimOuter || kind == Kind::DimInner; }
  friend bool operator==(const LayoutEntry&, const LayoutEntry&) = default;
};
// Adds a copy stage, computed in `loop` of `stage` (kNoLoop: at root), for what read number `read`
// of `stage` needs below that loop. Its loops are the layout's entries, in order.
struct CacheReadStep {
  static constexpr std::string_view kName = "cache_read";
  StageId stage = kNoStage;
  int16_t read = 0;
  LoopId loop = kNoLoop;
  std::vector<LayoutEntry> layout = {};
  friend bool operator==(const CacheReadStep&, const CacheReadStep&) = default;
};
// The same at the root for a constant, run once when it is bound.
struct PackConstantStep {
  static constexpr std::string_view kName = "pack_constant";
  StageId stage = kNoStage;
  int16_t read = 0;
  std::vector<LayoutEntry> layout = {};
  friend bool operator==(const PackConstantStep&, const PackConstantStep&) = default;
};
// Adds a stage of partial results over `loops` (reduction leaf loops of `stage`), which become
// spatial in it; it takes over all loops of `stage` (with their ids). `stage` then reduces the
// partial results: its fresh loops are its spatial axes, then one reduction loop a factored one.
struct RfactorStep {
  static constexpr std::string_view kName = "rfactor";
  StageId stage = kNoStage;
  std::vector<LoopId> loops = {};
  friend bool operator==(const RfactorStep&, const RfactorStep&) = default;
};
// Rounds the extent of an axis up to a multiple of `multiple`; new elements hold the identity.
struct PadStep {
  static constexpr std::string_view kName = "pad";
  StageId stage = kNoStage;
  LoopId axis = kNoLoop;
  Num multiple = {};
  friend bool operator==(const PadStep&, const PadStep&) = default;
};

using Step = std::variant<SplitStep, FuseStep, ReorderStep, AnnotateStep, ComputeAtStep,
                          ComputeRootStep, ComputeAfterStep, StoreAtStep, ShareStep, InlineStep,
                          CacheWriteStep, CacheReadStep, PackConstantStep, RfactorStep, PadStep>;
using Trace = std::vector<Step>;

inline constexpr Annotation kAnnotations[] = {
    Annotation::Parallel,  Annotation::Vectorize,   Annotation::Unroll,   Annotation::Prefetch,
    Annotation::Partition, Annotation::NonTemporal, Annotation::Registers};
std::string_view name_of(Annotation a);   // "parallel", "non_temporal", ...
std::string_view name_of(const Step& s);  // "split", "compute_at", ...
// The stage that the step changes.
StageId stage_of(const Step& s);
// With the step's slots filled from `decisions`; slots beyond them count as slots.
uint64_t hash_of(const Step& s, std::span<const int32_t> decisions = {});

namespace detail {
// `const T` or `T`, so that one function serves readers and rewriters of a step.
template <class S, class T>
concept Is = std::same_as<std::remove_const_t<S>, T>;
}  // namespace detail

// What a step consists of, in a fixed order: the one place that knows. A visitor derives from
// StepVisitor and hides what it cares about, taking references to write to where the step is not
// const. Loops come before the stage that they belong to, so that a visitor which renumbers both
// sees the stage as it was.
struct StepVisitor {
  void stage(const StageId&) {}
  void loop(StageId /*of*/, const LoopId&) {}
  void num(const Num&) {}
  void read(StageId /*of*/, const int16_t&) {}
  void dim(StageId /*of*/, int16_t /*read*/, const int16_t&) {}  // of the tensor read
  void annotation(const Annotation&) {}
  void layout_kind(const LayoutEntry::Kind&) {}
  void size(size_t) {}  // comes before the elements of a list
};

namespace detail {
template <class V>
void visit_loops(StageId of, auto& loops, V& v) {
  v.size(loops.size());
  for (auto& l : loops) v.loop(of, l);
}
template <class V>
void visit_layout(StageId of, int16_t read, auto& layout, V& v) {
  v.size(layout.size());
  for (auto& e : layout) {
    v.layout_kind(e.kind);
    e.kind == LayoutEntry::Kind::Loop ? v.loop(of, e.index) : v.dim(of, read, e.index);
    if (e.is_block()) v.num(e.block);
  }
}
}  // namespace detail

template <class V>
void visit_fields(detail::Is<SplitStep> auto& s, V& v) {
  v.loop(s.stage, s.loop);
  v.size(s.factors.size());
  for (auto& n : s.factors) v.num(n);
  v.stage(s.stage);
}
template <class V>
void visit_fields(detail::Is<FuseStep> auto& s, V& v) {
  detail::visit_loops(s.stage, s.loops, v);
  v.stage(s.stage);
}
template <class V>
void visit_fields(detail::Is<ReorderStep> auto& s, V& v) {
  detail::visit_loops(s.stage, s.order, v);
  v.stage(s.stage);
}
template <class V>
void visit_fields(detail::Is<AnnotateStep> auto& s, V& v) {
  v.annotation(s.annotation);
  if (has_loop(s.annotation)) v.loop(s.stage, s.loop);
  if (has_arg(s.annotation)) v.num(s.arg);
  v.stage(s.stage);
}
template <class V>
void visit_fields(detail::Is<ComputeAtStep> auto& s, V& v) {
  v.loop(s.target, s.loop);
  v.stage(s.stage);
  v.stage(s.target);
}
template <class V>
void visit_fields(detail::Is<ComputeRootStep> auto& s, V& v) {
  v.stage(s.stage);
}
template <class V>
void visit_fields(detail::Is<ComputeAfterStep> auto& s, V& v) {
  v.loop(s.target, s.loop);
  v.stage(s.stage);
  v.stage(s.target);
}
template <class V>
void visit_fields(detail::Is<StoreAtStep> auto& s, V& v) {
  const bool inside = s.loop != kNoLoop;
  v.loop(s.target, s.loop);
  v.stage(s.stage);
  if (inside) v.stage(s.target);
}
template <class V>
void visit_fields(detail::Is<ShareStep> auto& s, V& v) {
  v.stage(s.stage);
  v.stage(s.with);
}
template <class V>
void visit_fields(detail::Is<InlineStep> auto& s, V& v) {
  v.stage(s.stage);
}
template <class V>
void visit_fields(detail::Is<CacheWriteStep> auto& s, V& v) {
  v.loop(s.stage, s.loop);
  v.stage(s.stage);
}
template <class V>
void visit_fields(detail::Is<CacheReadStep> auto& s, V& v) {
  detail::visit_layout(s.stage, s.read, s.layout, v);
  v.read(s.stage, s.read);
  v.loop(s.stage, s.loop);
  v.stage(s.stage);
}
template <class V>
void visit_fields(detail::Is<PackConstantStep> auto& s, V& v) {
  detail::visit_layout(s.stage, s.read, s.layout, v);
  v.read(s.stage, s.read);
  v.stage(s.stage);
}
template <class V>
void visit_fields(detail::Is<RfactorStep> auto& s, V& v) {
  detail::visit_loops(s.stage, s.loops, v);
  v.stage(s.stage);
}
template <class V>
void visit_fields(detail::Is<PadStep> auto& s, V& v) {
  v.loop(s.stage, s.axis);
  v.num(s.multiple);
  v.stage(s.stage);
}
template <class V>
void visit_fields(detail::Is<Step> auto& step, V& v) {
  std::visit([&](auto& s) { visit_fields(s, v); }, step);
}

// Calls f(Num&) for every number of a step (Step or one of its alternatives), in a fixed order.
template <class StepT, class F>
void for_each_num(StepT& step, F&& f) {
  struct Visitor : StepVisitor {
    F& f;
    explicit Visitor(F& g) : f(g) {}
    void num(std::conditional_t<std::is_const_v<StepT>, const Num, Num>& n) { f(n); }
  } v(f);
  visit_fields(step, v);
}

}  // namespace espalier
