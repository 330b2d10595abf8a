// Streams: what each stage of a schedule touches, loop by loop.
#pragma once

#include "espalier/cost_model/widths.h"

namespace espalier {

// A loop around a stage's statement, its own or of a stage that it is attached in.
struct PathLoop {
  StageId stage = -1;
  LoopId loop = kNoLoop;
  Quantity extent;
  Quantity effective;  // iterations that happen, on average
  bool parallel = false;
  friend bool operator==(const PathLoop& a, const PathLoop& b) {
    return a.stage == b.stage && a.loop == b.loop;
  }
};

// One read or the write of a stage, as its statement does it.
struct StageAccess {
  int read = -1;  // of the stage's reads; -1: the write
  StageId buffer = -1;
  int element_bytes = 4;
  bool in_registers = false;  // the buffer is no memory
  Quantity gathers = 0;       // 1: the lanes of the vectorized loop lie where no stride says
  // By path loop: whether its value matters, and the elements that one step moves, where that is
  // the same everywhere.
  std::vector<bool> depends;
  std::vector<Quantity> strides;
};

// What a stage touches of one buffer.
struct Stream {
  StageId buffer = -1;
  int element_bytes = 4;
  bool read = false, written = false;
  // By position p in the path, 0 to path size: what one run of the loops from p inwards touches.
  std::vector<Quantity> elements;  // distinct ones, as boxes
  std::vector<Quantity> lines;     // distinct cache lines
  std::vector<bool> depends;       // by path loop
  std::vector<Quantity> strides;   // by path loop, of the first access
  // Rows whose distance is a large power of two fall into few sets of a cache.
  struct Rows {
    Quantity count, lines;  // of one row
    double pitch_lines = 0;
  };
  std::vector<std::vector<Rows>> rows;  // by position; for dimensions whose pitch is known
};

struct StageNest {
  StageId stage = -1;
  std::vector<PathLoop> path;
  size_t own_from = 0;  // the stage's own loops in the path
  std::vector<StageAccess> accesses;
  std::vector<Stream> streams;
};

// Whether the stage combines terms into what its buffer holds.
bool accumulates(const State& state, StageId s);

// Of the elements that the stage stores.
DType buffer_type(const State& state, StageId s);

// All stages that compute something at run time, in execution order. Constants that are packed when
// they are bound cost nothing then.
std::vector<StageNest> find_streams(const State& state, const Shape& shape);

}  // namespace espalier
