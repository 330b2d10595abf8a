// TilePlan: how a reduction can be cut into register tiles, from its accesses alone.
#pragma once

#include <vector>

#include "espalier/search/register_tile.h"
#include "espalier/search/stage_access.h"

namespace espalier {

// What a read asks for when the vector axis is chosen.
struct ReadPlan {
  int number = 0;  // of the stage's reads
  bool constant = false;
  bool vector = false;       // moves along the vector axis
  bool rows = false;         // moves along the first row option
  bool must_pack = false;    // moves along the vector axis by other than single elements
  bool packable = false;     // a copy in panels is possible and is used often enough
  int64_t stride_bytes = 0;  // largest step between neighbours along a reduction axis
};

// One way to choose the axis that is unrolled: neighbouring axes that act as one when fused. Axes
// here and below are those of the plan's access, some of which are parts of axes that are cut.
struct RowOption {
  std::vector<int> axes;  // empty: there is none
  RegisterTile tile;      // to start from
};

struct TilePlan {
  int vector_axis = -1;
  double score = 0;             // of that axis
  std::vector<RowOption> rows;  // best first, at least one
  std::vector<ReadPlan> reads;
};

// Cuts that all plans of a stage share, and the plans by what their vectors go along, best first;
// none: no axis serves.
struct TilePlans {
  std::vector<AxisCut> cuts;
  StageAccess access;  // with the cuts
  std::vector<TilePlan> plans;
};

TilePlans plan_tiles(const State& state, StageId s);

// Estimated bytes of the panel that one column of tiles reads over the whole reduction.
int64_t panel_bytes(const StageAccess& access, const RegisterTile& tile, int element_bytes);

}  // namespace espalier
