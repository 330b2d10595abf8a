// The line form of each step, once for both directions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "espalier/schedule/state.h"

namespace espalier {

inline constexpr int64_t kMaxFactor = int64_t{1} << 40;  // as State::apply has it
inline constexpr int64_t kMaxDistance = INT32_MAX;

// What stands after "STAGE: VERB", once for both directions: `io` is a Writer or a Reader.

template <class IO>
void form(IO& io, detail::Is<SplitStep> auto& s) {
  io.loop(s.stage, s.loop);
  io.made();
  io.word("by");
  io.nums(s.factors, 1, kMaxFactor);
}
template <class IO>
void form(IO& io, detail::Is<FuseStep> auto& s) {
  io.loops(s.stage, s.loops);
  io.made();
}
template <class IO>
void form(IO& io, detail::Is<ReorderStep> auto& s) {
  io.loops(s.stage, s.order);
}
template <class IO>
void form(IO& io, detail::Is<AnnotateStep> auto& s) {
  switch (s.annotation) {
    case Annotation::Parallel:
    case Annotation::Vectorize:
    case Annotation::Partition: io.loop(s.stage, s.loop); break;
    case Annotation::Unroll:
      io.loop(s.stage, s.loop);
      if (io.has("max", s.arg != Num{})) io.num(s.arg, 1, kMaxFactor);
      break;
    case Annotation::Prefetch:
      io.loop(s.stage, s.loop);
      io.num(s.arg, 0, kMaxDistance);
      break;
    case Annotation::NonTemporal:
    case Annotation::Registers: break;
  }
}
template <class IO>
void form(IO& io, detail::Is<ComputeAtStep> auto& s) {
  io.stage(s.target);
  io.loop(s.target, s.loop);
}
template <class IO>
void form(IO&, detail::Is<ComputeRootStep> auto&) {}
template <class IO>
void form(IO& io, detail::Is<ComputeAfterStep> auto& s) {
  io.stage(s.target);
  io.loop(s.target, s.loop);
}
template <class IO>
void form(IO& io, detail::Is<StoreAtStep> auto& s) {
  if (io.has("root", s.loop == kNoLoop)) return;
  io.stage(s.target);
  io.loop(s.target, s.loop);
}
template <class IO>
void form(IO& io, detail::Is<ShareStep> auto& s) {
  io.stage(s.with);
}
template <class IO>
void form(IO&, detail::Is<InlineStep> auto&) {}
template <class IO>
void form(IO& io, detail::Is<CacheWriteStep> auto& s) {
  io.word("at");
  if (!io.has("root", s.loop == kNoLoop)) io.loop(s.stage, s.loop);
  io.made();
}
template <class IO>
void form(IO& io, detail::Is<CacheReadStep> auto& s) {
  io.index(s.read);
  io.word("at");
  if (!io.has("root", s.loop == kNoLoop)) io.loop(s.stage, s.loop);
  io.layout(s.stage, s.layout);
  io.made();
}
template <class IO>
void form(IO& io, detail::Is<PackConstantStep> auto& s) {
  io.index(s.read);
  io.layout(s.stage, s.layout);
  io.made();
}
template <class IO>
void form(IO& io, detail::Is<RfactorStep> auto& s) {
  io.loops(s.stage, s.loops);
  io.made();
}
template <class IO>
void form(IO& io, detail::Is<PadStep> auto& s) {
  io.loop(s.stage, s.axis);
  io.word("to");
  io.word("multiple");
  io.word("of");
  io.num(s.multiple, 1, kMaxFactor);
}

// The names of the stages that a step added, or else of the loops that it added to its stage: what
// stands behind the arrow.
std::vector<std::string> made_by(const Step& step, const State& before, const State& after);

}  // namespace espalier
