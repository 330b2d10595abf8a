// Refit: the numbers of a schedule for other extents, vectors, registers, caches and cores.
//
// What fills vectors and registers is kept (in vectors, not in elements), or chosen anew where the
// machine differs; tiles for the caches keep their size in bytes; what is left over goes to the
// outer loops. Among values that serve as well, those that divide are taken, then those that leave
// even tails.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "espalier/support/target.h"

namespace espalier {

// What an inner part of a split becomes.
enum class FactorUse : uint8_t {
  Vector,    // lanes
  Register,  // spatial, straight code: rows of a register tile
  Straight,  // a reduction as straight code
  Tile,      // a loop
};
std::string_view name_of(FactorUse use);

enum class RefitRule : uint8_t {
  Kept,
  Capped,        // the extent is smaller
  Divisor,       // the nearest value that divides
  Balanced,      // the nearest value that leaves an even tail
  Lanes,         // as many vectors of the other width
  RegisterTile,  // chosen anew for the register file, or since its other side shrank
  Cache,         // as many bytes of the other cache
  Whole,         // all of the extent, as it was
  Cores,         // smaller, so that every core gets some
};
std::string_view name_of(RefitRule rule);  // "kept", "capped by the extent", ...

struct RefitFactor {
  FactorUse use = FactorUse::Tile;
  int64_t donor = 1;  // the value in the donor's schedule
  int64_t target = 1;
  RefitRule rule = RefitRule::Kept;
};

// One split: factors outermost first, as in a step.
struct SplitRefit {
  int64_t donor_extent = 1, target_extent = 1;
  bool outer_is_parallel = false;
  std::vector<RefitFactor> factors;
};

// Where the numbers come from and go to.
struct RefitMachines {
  const Target& donor;
  const Target& target;
  int donor_bytes = 4, target_bytes = 4;  // an element
  int donor_threads = 1, target_threads = 1;

  int donor_lanes() const;
  int target_lanes() const;
  bool same_registers() const;
};

// A register tile of rows x columns, in elements.
struct TileSize {
  int64_t rows = 1, columns = 1;
};

// The tile for the target, if it is to be another one: chosen anew where vectors or registers
// differ; with more rows where the columns are cut short by the extent. `loads_alike`: every
// accumulator loads an operand of its own.
std::optional<TileSize> refit_tile(const TileSize& donor, int64_t row_extent, int64_t column_extent,
                                   bool loads_alike, const RefitMachines& machines);

// Fills in the target's values. `tile`, if there is one, overrides the values for Vector and
// Register. All values are at least 1; an inner one is at most what further inner ones leave, but
// for whole vectors.
void refit_split(SplitRefit* split, const std::optional<TileSize>& tile,
                 const RefitMachines& machines);

}  // namespace espalier
