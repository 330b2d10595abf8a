#include "espalier/transfer/refit.h"

#include <algorithm>
#include <cmath>

#include "espalier/search/register_tile.h"
#include "espalier/support/check.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

constexpr int64_t kMostRows = 16;

double distance(int64_t a, int64_t b) {
  return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

// The divisor of `extent` nearest to `value` within a factor of `reach`, at most `limit`; 0: none.
int64_t nearest_divisor(int64_t extent, int64_t value, double reach, int64_t limit) {
  int64_t best = 0;
  const int64_t low =
      std::max<int64_t>(1, static_cast<int64_t>(std::ceil(static_cast<double>(value) / reach)));
  const int64_t high = std::min(limit, static_cast<int64_t>(static_cast<double>(value) * reach));
  // Large tiles have many neighbours; a divisor is worth only so much looking.
  for (int64_t d = low; d <= high && d - low < 4096; ++d) {
    if (extent % d != 0) continue;
    if (best == 0 || distance(d, value) < distance(best, value)) best = d;
  }
  return best;
}

// As many parts as `value` makes, all of about one size.
int64_t balanced(int64_t extent, int64_t value) {
  return ceil_div(extent, ceil_div(extent, value));
}

// Keeps the value where its tail matters little, else looks around.
RefitFactor fit(RefitFactor f, int64_t value, int64_t left, double reach) {
  f.target = value;
  if (value >= left) {
    f.target = left;
    if (value > left) f.rule = RefitRule::Capped;
    return f;
  }
  if (left % value == 0 || left >= 12 * value) return f;
  if (const int64_t d = nearest_divisor(left, value, reach, left); d != 0) {
    f.target = d;
    f.rule = RefitRule::Divisor;
    return f;
  }
  const int64_t even = balanced(left, value);
  if (even != value) {
    f.target = even;
    f.rule = RefitRule::Balanced;
  }
  return f;
}

RefitFactor fit_vector(RefitFactor f, int64_t left, const std::optional<TileSize>& tile,
                       const RefitMachines& m) {
  const int64_t lanes = m.target_lanes();
  int64_t value = f.donor;
  if (tile) {
    value = tile->columns;
    f.rule = RefitRule::RegisterTile;
  } else if (m.donor_lanes() != lanes && f.donor >= m.donor_lanes()) {
    value = f.donor / m.donor_lanes() * lanes;
    f.rule = RefitRule::Lanes;
  }
  if (left < lanes) {
    f.target = std::min(value, left);
    if (f.target != value) f.rule = RefitRule::Capped;
    return f;
  }
  if (value > round_up(left, lanes)) {
    value = round_up(left, lanes);
    f.rule = RefitRule::Capped;
  }
  f.target = value;
  if (value % lanes != 0 || left % value == 0 || tile) return f;
  // Whole vectors that divide, or leave less of a tail; a tail costs little where tiles are many.
  const int64_t vectors = value / lanes, all = ceil_div(left, lanes);
  if (all >= 12 * vectors) return f;
  if (const int64_t d = nearest_divisor(all, vectors, 1.35, all); d != 0) {
    if (d != vectors) {
      f.target = d * lanes;
      f.rule = RefitRule::Divisor;
    }
  } else if (const int64_t even = balanced(all, vectors); even != vectors) {
    f.target = even * lanes;
    f.rule = RefitRule::Balanced;
  }
  return f;
}

RefitFactor fit_register(RefitFactor f, int64_t left, const std::optional<TileSize>& tile) {
  if (!tile) return fit(f, f.donor, left, 1.35);
  f.target = std::clamp<int64_t>(tile->rows, 1, std::max<int64_t>(left, 1));
  if (f.target != f.donor) f.rule = RefitRule::RegisterTile;
  return f;
}

RefitFactor fit_tile(RefitFactor f, int64_t donor_left, int64_t left, const RefitMachines& m) {
  // All of it before: all of it now, if it did not grow out of proportion.
  if (f.donor >= donor_left && donor_left > 1 && left <= 2 * f.donor) {
    f.target = left;
    if (left != f.donor) f.rule = RefitRule::Whole;
    return f;
  }
  const double cache = static_cast<double>(std::max<int64_t>(m.target.l2_bytes, 1)) /
                       static_cast<double>(std::max<int64_t>(m.donor.l2_bytes, 1));
  const double bytes = static_cast<double>(m.donor_bytes) / m.target_bytes;
  int64_t value = f.donor;
  if (const double scale = cache * bytes; scale < 0.75 || scale > 1.5) {
    const double root = std::sqrt(scale);  // both sides of a tile share the change
    value = std::max<int64_t>(1, std::llround(static_cast<double>(f.donor) * root));
    if (value != f.donor) f.rule = RefitRule::Cache;
  }
  return fit(f, value, left, 1.5);
}

}  // namespace

std::string_view name_of(FactorUse use) {
  switch (use) {
    case FactorUse::Vector: return "vector";
    case FactorUse::Register: return "register";
    case FactorUse::Straight: return "straight";
    case FactorUse::Tile: return "tile";
  }
  ESP_UNREACHABLE("factor use ", static_cast<int>(use));
}

std::string_view name_of(RefitRule rule) {
  switch (rule) {
    case RefitRule::Kept: return "kept";
    case RefitRule::Capped: return "capped by the extent";
    case RefitRule::Divisor: return "nearest divisor";
    case RefitRule::Balanced: return "even tail";
    case RefitRule::Lanes: return "as many vectors";
    case RefitRule::RegisterTile: return "register tile for this machine and extent";
    case RefitRule::Cache: return "same share of the cache";
    case RefitRule::Whole: return "the whole extent";
    case RefitRule::Cores: return "smaller, so that all threads work";
  }
  ESP_UNREACHABLE("refit rule ", static_cast<int>(rule));
}

int RefitMachines::donor_lanes() const { return std::max(1, donor.lanes(donor_bytes)); }
int RefitMachines::target_lanes() const { return std::max(1, target.lanes(target_bytes)); }
bool RefitMachines::same_registers() const {
  return donor_lanes() == target_lanes() && donor.vector_registers == target.vector_registers;
}

std::optional<TileSize> refit_tile(const TileSize& donor, int64_t row_extent, int64_t column_extent,
                                   bool loads_alike, const RefitMachines& m) {
  const int64_t lanes = m.target_lanes();
  if (!m.same_registers()) {
    const RegisterTile tile = choose_register_tile(row_extent, column_extent,
                                                   static_cast<int>(lanes), m.target, loads_alike);
    return TileSize{tile.rows, tile.cols};
  }
  const int64_t columns = column_extent < lanes
                              ? column_extent
                              : std::min(donor.columns, round_up(column_extent, lanes));
  if (columns >= donor.columns) return std::nullopt;
  // The narrower tile leaves registers for more rows.
  const int64_t before = std::max<int64_t>(1, ceil_div(donor.columns, lanes));
  const int64_t now = std::max<int64_t>(1, ceil_div(columns, lanes));
  int64_t rows = std::min({donor.rows * before / now, kMostRows, std::max<int64_t>(row_extent, 1)});
  rows = std::min(rows, std::max<int64_t>(1, (m.target.vector_registers - now - 1) / now));
  if (rows > 1 && row_extent < 12 * rows) rows = balanced(row_extent, rows);
  return TileSize{std::max<int64_t>(rows, 1), columns};
}

void refit_split(SplitRefit* split, const std::optional<TileSize>& tile,
                 const RefitMachines& machines) {
  int64_t donor_left = std::max<int64_t>(split->donor_extent, 1);
  int64_t left = std::max<int64_t>(split->target_extent, 1);
  // What was measured on this very extent and machine needs no second thought.
  bool same = left == donor_left && !tile && machines.same_registers() &&
              machines.donor.l2_bytes == machines.target.l2_bytes &&
              machines.donor_bytes == machines.target_bytes;
  for (size_t i = split->factors.size(); i-- > 0;) {
    RefitFactor& f = split->factors[i];
    f.rule = RefitRule::Kept;
    f.target = f.donor;
    if (!same) switch (f.use) {
        case FactorUse::Vector: f = fit_vector(f, left, tile, machines); break;
        case FactorUse::Register: f = fit_register(f, left, tile); break;
        case FactorUse::Straight: f = fit(f, f.donor, left, 1.35); break;
        case FactorUse::Tile: f = fit_tile(f, donor_left, left, machines); break;
      }
    f.target = std::max<int64_t>(f.target, 1);
    const int64_t outer = ceil_div(left, f.target);
    // Threads share the iterations of what stays outside.
    const int64_t wanted = 2 * machines.target_threads;
    if (i == 0 && split->outer_is_parallel && f.use == FactorUse::Tile && outer < wanted &&
        ceil_div(donor_left, std::max<int64_t>(f.donor, 1)) >= 2 * machines.donor_threads &&
        left > outer && machines.target_threads > 1) {
      f.target = std::max<int64_t>(1, left / wanted);
      f.rule = RefitRule::Cores;
    }
    same = same && f.target == f.donor;
    donor_left = ceil_div(donor_left, std::max<int64_t>(f.donor, 1));
    left = ceil_div(left, f.target);
  }
}

}  // namespace espalier
