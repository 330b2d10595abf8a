// SketchBuilder: writes a sketch step by step, beside the state that it has for one set of numbers.
//
// A rule reads loops and extents off the state and appends steps; numbers that the search should
// choose become slots with a value to start from. The first rejected step ends the sketch: what
// follows is ignored and ok() is false, so rules need not check each step.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "espalier/schedule/state.h"

namespace espalier {

class SketchBuilder {
 public:
  explicit SketchBuilder(const Task& task) : state_(State::initial(task)) {}

  const State& state() const { return state_; }
  const Task& task() const { return state_.task(); }
  const Stage& stage(StageId s) const { return state_.stage(s); }
  const Loop& loop(StageId s, LoopId l) const { return stage(s).loops[static_cast<size_t>(l)]; }
  int64_t extent(StageId s, LoopId l) const { return loop(s, l).extent; }

  bool ok() const { return !rejection_.has_value(); }
  // The rejected step and why, in words; the size of the code if nothing was rejected.
  std::string explain() const;

  // Numbers: written down, or a new slot. A slot may be used again in a later step, which then
  // always has the same value.
  static Num fixed(int64_t value) { return {value, -1}; }
  // `name` says what the slot is for, whatever the sketch: numbers are carried over by it.
  Num slot(std::string name, SlotKind kind, int64_t start);
  int64_t value(const Num& n) const;  // with the numbers to start from

  // A step as it is. A rejection is no end: the sketch stays as it was, without the slots that were
  // made for the step.
  std::optional<Rejection> attempt(Step step);

  // Steps. Those that make loops or stages return their ids (valid names even after a rejection).
  std::vector<LoopId> split(StageId s, LoopId l, std::vector<Num> inner);  // outermost first
  LoopId fuse(StageId s, std::vector<LoopId> loops);  // one loop: itself, without a step
  void reorder(StageId s, std::vector<LoopId> order);
  void annotate(StageId s, LoopId l, Annotation a, Num arg = {});
  void vectorize(StageId s, LoopId l) { annotate(s, l, Annotation::Vectorize); }
  void unroll(StageId s, LoopId l) { annotate(s, l, Annotation::Unroll); }
  void parallel(StageId s, LoopId l) { annotate(s, l, Annotation::Parallel); }
  void registers(StageId s) { annotate(s, kNoLoop, Annotation::Registers); }
  void compute_at(StageId s, StageId target, LoopId l);
  void compute_after(StageId s, StageId target, LoopId l);
  void store_at(StageId s, StageId target, LoopId l);
  void share(StageId s, StageId with);
  void inline_stage(StageId s);
  StageId cache_write(StageId s, LoopId l);  // the accumulator
  StageId cache_read(StageId s, int read, LoopId l, std::vector<LayoutEntry> layout);
  StageId pack_constant(StageId s, int read, std::vector<LayoutEntry> layout);
  StageId rfactor(StageId s, std::vector<LoopId> loops);  // the partial results

  // The state as it was at a `mark`: what came after it is forgotten, a rejection too.
  struct Mark {
    State state;
    size_t steps = 0, slots = 0;
  };
  Mark mark() const { return {state_, sketch_.steps.size(), sketch_.slots.size()}; }
  void rewind(const Mark& mark);

  const Sketch& sketch() const { return sketch_; }
  const std::vector<int32_t>& start() const { return start_; }
  const std::vector<std::string>& slot_names() const { return slot_names_; }

 private:
  bool apply(Step step);
  StageId next_stage() const { return static_cast<StageId>(state_.size()); }

  State state_;
  Sketch sketch_;
  std::vector<int32_t> start_;           // a value for each slot
  std::vector<std::string> slot_names_;  // one a slot, distinct
  size_t slots_in_steps_ = 0;            // those made before the last step
  std::optional<Rejection> rejection_;
  std::optional<Step> rejected_;
};

}  // namespace espalier
