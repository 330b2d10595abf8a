// Histograms of gradients: the inner loops of growing trees.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "espalier/cost_model/gbdt/binning.h"

namespace espalier::gbdt {

// A row's gradient and Hessian as integers in one number, g * 2^32 + h with h >= 0: one addition
// adds both. As long as no sum of |g| or h reaches 2^31, sums are exact, so they do not depend on
// the order of addition (hence not on threads), and a child's sums are exactly its parent's less
// its sibling's.
using Packed = int64_t;

inline Packed pack(int32_t g, int32_t h) {
  return static_cast<Packed>(static_cast<uint64_t>(static_cast<int64_t>(g)) << 32) + h;
}
inline int32_t packed_g(Packed p) { return static_cast<int32_t>(p >> 32); }
inline int32_t packed_h(Packed p) { return static_cast<int32_t>(static_cast<uint32_t>(p)); }

// Columns are handled eight at a time, one in each lane.
inline constexpr size_t kLanes = 8;

// Sums over the rows with one code, for the eight columns of a block. A block's histogram is one
// for each code: that of missing values first.
struct alignas(64) BinSums {
  std::array<Packed, kLanes> lane;
};

// Up to eight columns side by side.
struct Block {
  std::vector<uint32_t> columns;  // by lane
  int bins = 1;                   // the most of any of the columns
  bool missing = false;           // whether one of the columns lacks a value somewhere
  std::vector<uint64_t> codes;    // a row's codes, lane 0 in the lowest byte; unused lanes are 0

  size_t codes_per_column() const { return static_cast<size_t>(bins) + 1; }
};

// Columns with only one code are left out: they cannot be split on. Columns with alike numbers of
// bins share a block.
std::vector<Block> make_blocks(const BinnedTable& table, std::span<const uint32_t> columns);

// histogram[code].lane[l] += packed[i] for each of the rows rows[i] and each lane's code. The
// histogram has codes_per_column() entries and starts out as zeros.
void add_rows(const Block& block, std::span<const uint32_t> rows, const Packed* packed,
              BinSums* histogram);

// whole -= part, for `count` codes.
void subtract(BinSums* whole, const BinSums* part, size_t count);

// In units of the packed integers: gains are G^2 / (H + lambda) in those units.
struct SplitRule {
  Packed total = 0;      // over the rows of the node
  float lambda = 0;      // > 0
  int32_t min_hess = 1;  // of a child, at least 1
};

struct BlockSplit {
  float gain = -1;             // of the two children together; -1: no split is allowed
  uint32_t column = 0;         // of the table
  int bin = 0;                 // codes up to this go left
  bool missing_right = false;  // where missing values go
};

// The best split of a node by its histogram: the most of GL^2/(HL+lambda) + GR^2/(HR+lambda) over
// columns and cuts, missing values tried on both sides (as in XGBoost, Chen and Guestrin 2016,
// algorithm 3). Among equals the lowest column, then the lowest cut, then missing values right.
BlockSplit find_split(const Block& block, const BinSums* histogram, const SplitRule& rule);

}  // namespace espalier::gbdt
