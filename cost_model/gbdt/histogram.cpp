#include "espalier/cost_model/gbdt/histogram.h"

#include <algorithm>
#include <cstring>

// How vectors are passed does not matter here: what takes them is always inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace espalier::gbdt {
namespace {

// Vectors of the compiler, not intrinsics: the same source for every machine. Each operation is
// elementwise and rounded by itself (no target with fused multiply-add is asked for), so all
// versions compute the same bits.
using Long8 = int64_t __attribute__((vector_size(64)));
using Int16 = int32_t __attribute__((vector_size(64)));
using Int8 = int32_t __attribute__((vector_size(32)));
using Float8 = float __attribute__((vector_size(32)));

#define ESP_INLINE inline __attribute__((always_inline))
#if defined(__x86_64__)
#define ESP_WIDE __attribute__((target("avx2")))
bool has_wide() { return __builtin_cpu_supports("avx2") != 0; }
#endif

ESP_INLINE Long8 load(const BinSums& sums) {
  Long8 v;
  std::memcpy(&v, sums.lane.data(), sizeof(v));
  return v;
}

// The order in which halves() leaves lanes: one shuffle within each half of a register.
constexpr std::array<size_t, kLanes> kLaneOrder = {0, 1, 4, 5, 2, 3, 6, 7};

struct Halves {
  Int8 g, h;
};
ESP_INLINE Halves halves(Long8 packed) {
  const Int16 v = reinterpret_cast<Int16>(packed);
  return {__builtin_shufflevector(v, v, 1, 3, 9, 11, 5, 7, 13, 15),
          __builtin_shufflevector(v, v, 0, 2, 8, 10, 4, 6, 12, 14)};
}

ESP_INLINE Float8 to_float(Int8 v) { return __builtin_convertvector(v, Float8); }

struct LaneSplits {
  alignas(32) std::array<float, kLanes> gain;
  alignas(32) std::array<int32_t, kLanes> place;  // 2 * bin, + 1: missing values go left
};

ESP_INLINE void scan(const BinSums* histogram, int bins, bool missing, const SplitRule& rule,
                     LaneSplits& splits) {
  const Int8 total_g = Int8{} + packed_g(rule.total);
  const Int8 total_h = Int8{} + packed_h(rule.total);
  const Int8 least = Int8{} + (rule.min_hess - 1);
  const Float8 lambda = Float8{} + rule.lambda;
  Float8 best = Float8{} - 1.0F;
  Int8 place = Int8{};
  const auto consider = [&](Long8 left, int here) __attribute__((always_inline)) {
    const auto [left_g, left_h] = halves(left);
    const Int8 right_h = total_h - left_h;
    const Float8 gl = to_float(left_g), gr = to_float(total_g - left_g);
    const Float8 hl = to_float(left_h) + lambda, hr = to_float(right_h) + lambda;
    const Float8 gain = (gl * gl * hr + gr * gr * hl) / (hl * hr);
    const Int8 better = (left_h > least) & (right_h > least) & (gain > best);
    best = better ? gain : best;
    place = better ? Int8{} + here : place;
  };
  Long8 left = Long8{};
  if (!missing) {
    for (int bin = 1; bin < bins; ++bin) {
      left += load(histogram[bin]);
      consider(left, 2 * bin);
    }
  } else {
    const Long8 without = load(histogram[0]);
    for (int bin = 1; bin <= bins; ++bin) {
      left += load(histogram[bin]);
      consider(left, 2 * bin);
      consider(left + without, 2 * bin + 1);
    }
  }
  std::memcpy(splits.gain.data(), &best, sizeof(best));
  std::memcpy(splits.place.data(), &place, sizeof(place));
}

ESP_INLINE void subtract_all(BinSums* whole, const BinSums* part, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const Long8 rest = load(whole[i]) - load(part[i]);
    std::memcpy(whole[i].lane.data(), &rest, sizeof(rest));
  }
}

#if defined(__x86_64__)
ESP_WIDE void scan_wide(const BinSums* histogram, int bins, bool missing, const SplitRule& rule,
                        LaneSplits& splits) {
  scan(histogram, bins, missing, rule, splits);
}
ESP_WIDE void subtract_wide(BinSums* whole, const BinSums* part, size_t count) {
  subtract_all(whole, part, count);
}
#endif

}  // namespace

std::vector<Block> make_blocks(const BinnedTable& table, std::span<const uint32_t> columns) {
  std::vector<uint32_t> order;
  for (uint32_t j : columns) {
    const ColumnBins& bins = table.columns[j];
    if (bins.bins() > 1 || bins.missing) order.push_back(j);
  }
  const auto before = [&](uint32_t a, uint32_t b) {
    const ColumnBins &x = table.columns[a], &y = table.columns[b];
    if (x.missing != y.missing) return y.missing;
    return x.bins() != y.bins() ? x.bins() < y.bins() : a < b;
  };
  std::sort(order.begin(), order.end(), before);
  std::vector<Block> blocks;
  for (size_t first = 0; first < order.size(); first += kLanes) {
    Block& block = blocks.emplace_back();
    const size_t end = std::min(order.size(), first + kLanes);
    block.columns.assign(order.begin() + static_cast<ptrdiff_t>(first),
                         order.begin() + static_cast<ptrdiff_t>(end));
    block.codes.resize(table.rows);
    for (size_t lane = 0; lane < block.columns.size(); ++lane) {
      const ColumnBins& bins = table.columns[block.columns[lane]];
      block.bins = std::max(block.bins, bins.bins());
      block.missing = block.missing || bins.missing;
      const uint8_t* codes = table.column(block.columns[lane]);
      for (size_t i = 0; i < table.rows; ++i) {
        block.codes[i] |= static_cast<uint64_t>(codes[i]) << (8 * lane);
      }
    }
  }
  return blocks;
}

void add_rows(const Block& block, std::span<const uint32_t> rows, const Packed* packed,
              BinSums* histogram) {
  const uint64_t* codes = block.codes.data();
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint64_t code = codes[rows[i]];
    const Packed p = packed[i];
    histogram[code & 255].lane[0] += p;
    histogram[code >> 8 & 255].lane[1] += p;
    histogram[code >> 16 & 255].lane[2] += p;
    histogram[code >> 24 & 255].lane[3] += p;
    histogram[code >> 32 & 255].lane[4] += p;
    histogram[code >> 40 & 255].lane[5] += p;
    histogram[code >> 48 & 255].lane[6] += p;
    histogram[code >> 56].lane[7] += p;
  }
}

void subtract(BinSums* whole, const BinSums* part, size_t count) {
#if defined(__x86_64__)
  if (has_wide()) return subtract_wide(whole, part, count);
#endif
  subtract_all(whole, part, count);
}

BlockSplit find_split(const Block& block, const BinSums* histogram, const SplitRule& rule) {
  LaneSplits splits;
#if defined(__x86_64__)
  if (has_wide()) {
    scan_wide(histogram, block.bins, block.missing, rule, splits);
  } else {
    scan(histogram, block.bins, block.missing, rule, splits);
  }
#else
  scan(histogram, block.bins, block.missing, rule, splits);
#endif
  BlockSplit best;
  for (size_t place = 0; place < kLanes; ++place) {
    const size_t lane = kLaneOrder[place];
    if (lane >= block.columns.size()) continue;
    const uint32_t column = block.columns[lane];
    const float gain = splits.gain[place];
    if (gain > best.gain || (gain == best.gain && gain >= 0 && column < best.column)) {
      best = {gain, column, splits.place[place] / 2, splits.place[place] % 2 == 0};
    }
  }
  return best;
}

}  // namespace espalier::gbdt
