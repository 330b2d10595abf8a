// What the loops of a stage mean for memory: which reads an axis moves, and by how much.
#pragma once

#include <vector>

#include "espalier/schedule/state.h"

namespace espalier {

// How one dimension of a read's source moves with the axes.
struct ReadDimension {
  std::vector<int64_t> step;    // by axis; 0 where it does not occur
  std::vector<bool> irregular;  // by axis: it occurs other than as a multiple of itself
  bool uses(int axis) const {
    return step[static_cast<size_t>(axis)] != 0 || irregular[static_cast<size_t>(axis)];
  }
};

struct ReadAccess {
  int number = 0;  // of the stage's reads
  StageId source = -1;
  int producer = -1;            // DAG stage
  bool constant = false;        // of a weight
  bool computed = false;        // of another stage's result
  int64_t elements = 0;         // of the tensor read
  std::vector<bool> uses;       // by axis: it occurs in an index
  std::vector<bool> linear;     // by axis: it occurs as a multiple of itself only
  std::vector<int64_t> stride;  // by axis: elements that one step moves, where it is linear
  std::vector<ReadDimension> dims;
  bool all_linear() const;
  // One step along the axis stays, or moves to the next element.
  bool contiguous(int axis) const {
    const size_t a = static_cast<size_t>(axis);
    return !uses[a] || (linear[a] && stride[a] == 1);
  }
};

// An axis counted in two: axis = outer * by + inner.
struct AxisCut {
  int axis = 0;
  int64_t by = 1;
};

enum class AxisPart : uint8_t { Whole, Outer, Inner };

struct StageAccess {
  // Axes of the definition, the spatial ones first; in place of one that is cut, its two parts.
  int spatial = 0, reduce = 0;
  std::vector<int> origin;            // by axis: the axis of the definition
  std::vector<AxisPart> part;         // by axis: how much of that
  std::vector<int64_t> extent;        // by axis, as the stage stands (a region's)
  std::vector<bool> guarded;          // by axis: the condition of the reduction mentions it
  std::vector<int64_t> write_stride;  // by spatial axis
  std::vector<ReadAccess> reads;      // those that are still at the definition's own indices
  int lanes = 1;                      // of the stage's type in one vector

  int axes() const { return spatial + reduce; }
  int64_t points() const;  // of all axes
  int64_t spatial_points() const;
  int64_t reduce_points() const;
};

StageAccess analyze_stage(const State& state, StageId s, const std::vector<AxisCut>& cuts = {});

// Cuts of spatial axes, ascending, that make divisions and remainders in indices go away: a
// division of an axis by the size of a group is constant within the group, and what a stride's
// remainder picks is the same for all places that lie a multiple of the stride apart.
std::vector<AxisCut> find_cuts(const State& state, StageId s);

// Neighbouring axes a and a + 1 (both spatial or both reduction) act as one: every read and the
// write move along the fused loop by one stride, and no condition tells them apart.
bool is_linear_pair(const StageAccess& access, int a);

// Whether every read of `source` by `reader` is at the reader's own index, shapes being equal.
bool reads_at_own_index(const State& state, StageId reader, StageId source);

// Stages that read `s` and are computed, ascending, each once.
std::vector<StageId> readers_of(const State& state, StageId s);

// Instructions, roughly, of one evaluation of the stage's body: an exp or a division of floats
// counts 10, a plain operation 1, a mere read 0.
double body_cost(const StageInfo& info);

// Whether an element of the stage takes an exp, a tanh or their like, which become dozens of
// instructions each; in its own definition or in what was inlined into it.
bool takes_math(const State& state, StageId s);

// Whether values are chosen by a condition (padding written as a stage).
bool has_select(const StageInfo& info);

}  // namespace espalier
