#include "espalier/search/register_tile.h"

#include <algorithm>

#include "espalier/support/number.h"

namespace espalier {
namespace {

constexpr int64_t kAlikeAccumulators = 12;

struct Machine {
  double fma_per_cycle = 2;
  double latency = 4;
  double vector_load = 1;  // cycles; panels come from the second cache
  double near_load = 0.5;  // of a vector that is in the first one, or of a broadcast
  int64_t registers = 16;
};

// Cycles of one step of the reduction on a tile of rows x vectors. Loads overlap with arithmetic,
// but not perfectly: a share of them is added so that of two tiles bound by arithmetic the one
// with fewer loads wins; and of two alike, the one with less code.
double cycles(int64_t rows, int64_t vectors, bool loads_alike, const Machine& m) {
  const double accumulators = static_cast<double>(rows * vectors);
  const double loads =
      loads_alike ? (accumulators + static_cast<double>(vectors)) * m.near_load
                  : static_cast<double>(vectors) * m.vector_load + static_cast<double>(rows) * 0.5;
  return std::max({accumulators / m.fma_per_cycle, loads, m.latency}) + 0.1 * loads +
         0.03 * static_cast<double>(rows);
}

}  // namespace

RegisterTile choose_register_tile(int64_t row_extent, int64_t col_extent, int lanes,
                                  const Target& target, bool loads_alike, int64_t most_rows) {
  Machine m;
  m.registers = target.vector_registers;
  // Wide vectors are commonly worked off at half the rate; broadcasts are not.
  if (target.vector_bits >= 512) {
    m.fma_per_cycle = 1;
    m.vector_load = 2;
    m.near_load = 1;
  }
  row_extent = std::max<int64_t>(row_extent, 1);
  col_extent = std::max<int64_t>(col_extent, 1);
  if (col_extent < lanes) {
    // Part of a vector: all of it, and rows for the latency.
    const RegisterTile tile =
        choose_register_tile(row_extent, lanes, lanes, target, loads_alike, most_rows);
    return {tile.rows, col_extent, tile.cycles};
  }
  const int64_t vectors = ceil_div(col_extent, lanes);
  // A broadcast stays beside the accumulators, and the vector operands if they serve several rows.
  RegisterTile best;
  for (int64_t v = 1; v <= std::min<int64_t>(vectors, 8); ++v) {
    for (int64_t r = 1; r <= std::min({row_extent, m.registers, most_rows}); ++r) {
      if (r * v + (r > 1 ? v : 1) + 1 > m.registers) break;
      // Without operands that rows share, more of them than hide the latency only make code long.
      if (loads_alike && r > 1 && r * v > kAlikeAccumulators) break;
      const int64_t row_tiles = row_extent / r, row_tail = row_extent % r;
      const int64_t col_tiles = vectors / v, col_tail = vectors % v;
      auto part = [&](int64_t count, int64_t rows, int64_t cols) {
        return rows == 0 || cols == 0
                   ? 0.0
                   : static_cast<double>(count) * cycles(rows, cols, loads_alike, m);
      };
      // Tails are code of their own.
      const double total = part(row_tiles * col_tiles, r, v) +
                           1.2 * (part(row_tiles, r, col_tail) + part(col_tiles, row_tail, v) +
                                  part(1, row_tail, col_tail));
      if (best.cycles == 0 || total < best.cycles * (1 - 1e-9)) best = {r, v * lanes, total};
    }
  }
  return best;
}

}  // namespace espalier
