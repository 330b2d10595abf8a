// The shape of a register tile by a closed formula: what schedules start from.
#pragma once

#include <cstdint>

#include "espalier/support/target.h"

namespace espalier {

struct RegisterTile {
  int64_t rows = 1;   // along the axis that is unrolled
  int64_t cols = 1;   // along the axis that is vectorized, in elements: a multiple of the lanes
                      // unless that axis is narrower
  double cycles = 0;  // estimated, of one step of the reduction for all row_extent x col_extent
};

// The tile of `rows` x `cols` accumulators that covers `row_extent` x `col_extent` in the fewest
// estimated cycles a step of the reduction: multiply-adds, loads (a vector a column, a broadcast a
// row) and the latency of the chains, tails included, within the register file. With `loads_alike`
// every accumulator loads an operand of its own (no broadcasts: depthwise, pooling). There are at
// most `most_rows` rows.
RegisterTile choose_register_tile(int64_t row_extent, int64_t col_extent, int lanes,
                                  const Target& target, bool loads_alike = false,
                                  int64_t most_rows = 1 << 20);

}  // namespace espalier
