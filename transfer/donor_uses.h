// What a schedule makes of its loops in the end: the part of refitting that looks ahead.
#pragma once

#include <optional>
#include <vector>

#include "espalier/schedule/state.h"
#include "espalier/transfer/refit.h"

namespace espalier {

class DonorUses {
 public:
  // `end`: the state of the whole trace.
  explicit DonorUses(const State& end) : end_(end) {}

  // What becomes of the loop, wherever steps took it: lanes, straight code or a loop.
  FactorUse use_of(StageId stage, LoopId loop) const;
  bool is_parallel(StageId stage, LoopId loop) const;

  // The register tile of the stage that is defined by `op`: axes and size. Nothing if no loop of it
  // became lanes.
  struct Tile {
    std::vector<int> row_axes, column_axes;
    TileSize size;
  };
  std::optional<Tile> tile_of(int op) const;

 private:
  template <class F>
  bool any_standing(StageId stage, LoopId loop, F&& f) const;

  const State& end_;
};

}  // namespace espalier
