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

// One way to choose the axis that is unrolled: neighbouring axes that act as one when fused.
struct RowOption {
  std::vector<int> axes;  // empty: there is none
  RegisterTile tile;      // to start from
};

struct TilePlan {
  int vector_axis = -1;  // -1: no axis serves; the plan is no good
  // The vector axis falls into groups of so many elements that some read sees as one (grouped
  // convolutions); 0: it does not.
  int64_t vector_group = 0;
  int64_t vector_extent = 0;    // of a group if there are groups
  std::vector<RowOption> rows;  // best first, at least one
  std::vector<ReadPlan> reads;
  bool good() const { return vector_axis >= 0; }
};

TilePlan plan_tile(const State& state, StageId s);

// Estimated bytes of the panel that one column of tiles reads over the whole reduction.
int64_t panel_bytes(const StageAccess& access, const RegisterTile& tile, int element_bytes);

}  // namespace espalier
