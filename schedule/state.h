// State: the immutable value that a trace of steps denotes.
//
// It is a light loop structure apart from expressions: for every stage a table of loops from its
// axes down to the leaves, the order of the leaves, where the stage is attached, and where each
// read is served from. Replaying a trace costs microseconds; expressions are made only by lower().
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "espalier/schedule/candidate.h"
#include "espalier/schedule/rejection.h"
#include "espalier/schedule/task.h"
#include "espalier/support/result.h"

namespace espalier {

// How the value of a loop is known inside its stage.
enum class LoopState : uint8_t {
  Leaf,    // a loop of the nest
  Split,   // consumed: recovered from `relation`'s parts
  Fused,   // consumed: recovered from the result of `relation`
  Bound,   // the value of loop (bound_stage, bound_loop), which encloses this stage
  Absent,  // does not occur in this stage
};

struct Loop {
  int64_t extent = 1;
  LoopState state = LoopState::Leaf;
  bool reduce = false;
  bool parallel = false, vectorize = false, unroll = false, partition = false;
  bool region = false;       // an axis relative to the first element of the region computed here
  int16_t relation = -1;     // split or fuse that consumed it
  int16_t origin = -1;       // split or fuse that made it; -1: an axis
  int16_t origin_part = 0;   // which part of the split
  LoopId copy_of = kNoLoop;  // fresh loops of cache_write and rfactor: the old loop it stands for
  StageId bound_stage = -1;
  LoopId bound_loop = kNoLoop;
  int32_t prefetch = 0;  // distance in iterations, 0: none
};

struct Relation {
  bool is_fuse = false;
  LoopId whole = kNoLoop;     // split: the loop consumed; fuse: the loop made
  std::vector<LoopId> parts;  // outermost first
};

enum class StageRole : uint8_t {
  Input,       // placeholder or constant
  Compute,     // the whole definition
  Accumulate,  // made by cache_write: identity, then all terms of its loops
  WriteBack,   // after cache_write: copies or combines the accumulator
  Copy,        // made by cache_read
  Pack,        // made by pack_constant
  Partial,     // made by rfactor
  Final,       // after rfactor: reduces the partial results
};

enum class AttachKind : uint8_t { Root, Inlined, At, After };

// Where a read of the stage's definition is served from.
struct StageRead {
  // Element: at the definition's indices. Loops: an accumulator, partial results or a producer
  // stored in this stage's nest: at the values of the source's storage loops, which have the same
  // ids here. Packed: a copy, at what its layout says.
  enum class Kind : uint8_t { Element, Loops, Packed } kind = Kind::Element;
  StageId source = -1;
  int16_t producer = -1;            // DAG stage of the tensor read (Element and Packed)
  std::vector<int16_t> path;        // access numbers, from the definition through inlined producers
  std::vector<LinearIndex> linear;  // over the axes of the stage's definition (Element and Packed)
};

struct Stage {
  int16_t op = -1;  // DAG stage that defines it
  StageRole role = StageRole::Compute;
  AttachKind attach = AttachKind::Root;
  StageId attach_stage = -1;
  LoopId attach_loop = kNoLoop;
  // Where the buffer lives; equal to the attach point unless store_at moved it outwards.
  bool stored_at_root = true;
  StageId store_stage = -1;
  LoopId store_loop = kNoLoop;
  StageId shares = -1;  // keeps its values in that stage's buffer
  // A region axis of this stage counts from the region's first element in that stage (itself,
  // unless it was made from an attached one).
  StageId base_stage = -1;
  bool registers = false, non_temporal = false;
  bool partial = false;  // its buffer holds partial results: factored loops index it too
  std::vector<Loop> loops;
  std::vector<Relation> relations;
  std::vector<LoopId> order;  // leaves, outermost first
  // Loops whose values (relative, for region axes) index the buffer, and its extents.
  std::vector<LoopId> storage;
  std::vector<int64_t> storage_extent;
  std::vector<StageRead> reads;
  std::vector<LayoutEntry> layout;  // Copy and Pack: what each storage loop means
  std::vector<int64_t> copy_width;  // and how far the copied region goes in each dimension

  int spatial_axes = 0, reduce_axes = 0;  // of the definition; loops [0, both) are its axes
  bool has_own_reduce() const;
};

class State {
 public:
  static State initial(const Task& task);

  const Task& task() const { return *task_; }
  const ComputeDag& dag() const { return task_->dag; }
  int size() const { return static_cast<int>(stages_.size()); }
  const Stage& stage(StageId s) const { return *stages_[static_cast<size_t>(s)]; }
  // Execution order of the stages; siblings attached at one loop run in this order.
  const std::vector<StageId>& execution_order() const { return order_; }
  const Trace& trace() const { return trace_; }  // numbers filled in

  std::string stage_name(StageId s) const;           // unique; "C", "C.acc", "A.pack"
  std::string loop_name(StageId s, LoopId l) const;  // unique in the stage; "i", "i.0", "i.0_j.0"
  StageId find_stage(std::string_view name) const;   // -1: none
  LoopId find_loop(StageId s, std::string_view name) const;

  // In place; on a rejection the state is as before. `decisions` fill the step's slots.
  std::optional<Rejection> apply(const Step& step, std::span<const int32_t> decisions = {});

 private:
  friend class StepApplier;
  std::shared_ptr<const Task> task_;
  std::vector<std::shared_ptr<Stage>> stages_;  // copied on write when shared
  std::vector<StageId> order_;
  Trace trace_;
};

// Either a state or why there is none.
class Replayed {
 public:
  Replayed(State s) : state_(std::move(s)) {}
  Replayed(Rejection r) : rejection_(r) {}
  bool ok() const { return state_.has_value(); }
  explicit operator bool() const { return ok(); }
  const State& state() const { return *state_; }
  State take() { return std::move(*state_); }
  const Rejection& rejection() const { return rejection_; }

 private:
  std::optional<State> state_;
  Rejection rejection_;
};
Replayed apply(const State& state, const Step& step);
Replayed replay(const Task& task, const Candidate& candidate);
Replayed replay(const Task& task, const Trace& trace);

// Instructions, roughly, that the schedule's innermost code will have after unrolling, tails
// included. One estimate for the sampler and for cost models.
double code_size(const State& state);

// The loop nest, one line a loop or statement, indented.
std::string print_nest(const State& state);
std::ostream& operator<<(std::ostream& os, const State& state);

// Text of a trace, one step a line, stages and loops by name; it parses back to the same trace:
//   C: split j -> j.0 j.1 j.2 by 4 32
//   C: reorder i.0 j.0 k
//   C: cache_write at j.1 -> C.acc
std::string to_string(const Trace& trace, const Task& task);
Result<Trace> parse_trace(std::string_view text, const Task& task);
// A sketch: numbers that are decisions print as d0, d1, ...
std::string to_string(const Sketch& sketch, const Task& task);

// A sentence: the step, what was expected, what was there, and the nest with the loop marked.
std::string explain(const Rejection& rejection, const Task& task, const Trace& trace);

}  // namespace espalier
