#include "espalier/search/rules/row_reduction.h"

#include <algorithm>
#include <cmath>

#include "espalier/search/register_tile.h"
#include "espalier/search/rules/nest_tools.h"
#include "espalier/search/rules/tile_plan.h"
#include "espalier/support/number.h"

namespace espalier {

std::vector<int> lane_axes(const State& state, StageId s) {
  const StageInfo& info = state.dag().stage(state.stage(s).op);
  if (info.reduce() == nullptr || !info.reduce()->combiner.reorderable) return {};
  const StageAccess access = analyze_stage(state, s);
  const auto moves_along = [&](int a) {
    return std::any_of(access.reads.begin(), access.reads.end(),
                       [&](const ReadAccess& r) { return r.uses[static_cast<size_t>(a)]; });
  };
  bool any_moves = false;
  for (int a = access.spatial; a < access.axes(); ++a) any_moves |= moves_along(a);
  for (int a = access.axes() - 1; a >= access.spatial; --a) {
    const size_t i = static_cast<size_t>(a);
    if (access.extent[i] < 2) continue;
    // Terms that are all the same are side by side everywhere.
    const bool moves = moves_along(a) || !any_moves;
    const bool consecutive = std::all_of(access.reads.begin(), access.reads.end(),
                                         [&](const ReadAccess& r) { return r.contiguous(a); });
    if (!moves || !consecutive) continue;
    // Neighbours that act as one lengthen it, as long as no vector lies across two of its rows.
    int first = a;
    while (first > access.spatial && is_linear_pair(access, first - 1) &&
           access.extent[static_cast<size_t>(first)] % access.lanes == 0) {
      --first;
    }
    std::vector<int> axes;
    for (int b = first; b <= a; ++b) axes.push_back(b);
    return axes;
  }
  return {};
}

std::vector<int> shared_axes(const StageAccess& access) {
  std::vector<int> axes;
  for (int a = access.spatial - 1; a >= 0 && axes.size() < 2; --a) {
    const size_t i = static_cast<size_t>(a);
    const bool stays = std::any_of(access.reads.begin(), access.reads.end(),
                                   [&](const ReadAccess& r) { return !r.uses[i]; });
    if (access.extent[i] > 1 && stays) axes.insert(axes.begin(), a);
  }
  return axes;
}

bool lanes_suit_better(const State& state, StageId s) {
  // Combining the lanes of a result must not cost more than a small part of its terms, in vectors.
  constexpr int64_t kLongTerms = 16;
  // An operand that is used so often can be copied for little.
  constexpr int64_t kWorthMoving = 64;
  const std::vector<int> axes = lane_axes(state, s);
  if (axes.empty()) return false;
  const StageAccess access = analyze_stage(state, s);
  const TilePlans tiles = plan_tiles(state, s);
  if (tiles.plans.empty()) return true;
  const TilePlan& plan = tiles.plans[0];
  const int64_t columns = tiles.access.extent[static_cast<size_t>(plan.vector_axis)];
  if (columns * 2 < access.lanes) return true;
  int64_t terms = 1;
  for (int a : axes) terms *= access.extent[static_cast<size_t>(a)];
  if (terms < kLongTerms * access.lanes) return false;
  return std::any_of(plan.reads.begin(), plan.reads.end(), [&](const ReadPlan& read) {
    if (!read.must_pack || read.constant) return false;
    const auto source = std::find_if(access.reads.begin(), access.reads.end(),
                                     [&](const ReadAccess& r) { return r.number == read.number; });
    return access.points() < kWorthMoving * source->elements;
  });
}

namespace {

// The roundings of a long chain add up where they all go the same way, as when all terms are equal,
// to more than the bound on errors of a reduction (ir/error_bound.h) grants. Then the outermost
// loop of the chain, of which the blocks are to be added up each on its own: about as many as they
// have terms. kNoLoop if chains are short enough. `others` are the loops over terms, outermost
// first, except lanes and chains, of which there are `width`; `steps` is the last of them, and
// stays the innermost part where it is the one that is cut.
LoopId cut_long_chains(PartialSketch& sketch, StageId s, const std::vector<LoopId>& others,
                       int64_t width, LoopId& steps) {
  const StageInfo& info = sketch.task().dag.stage(sketch.stage(s).op);
  const Combiner::Kind kind = info.reduce()->combiner.kind;
  const bool rounds = kind == Combiner::Kind::Sum || kind == Combiner::Kind::Prod;
  if (!rounds || !is_float(info.tensor->dtype)) return kNoLoop;
  double length = 1;
  for (LoopId l : others) length *= static_cast<double>(sketch.extent(s, l));
  const double terms = length * static_cast<double>(width);
  if (length + static_cast<double>(width) <= 16 + 2 * std::sqrt(terms)) return kNoLoop;
  const LoopId outer = others.front();
  const double rest = length / static_cast<double>(sketch.extent(s, outer));
  const auto block = static_cast<int64_t>(std::ceil(std::sqrt(length) / rest));
  if (block <= 1) return outer;
  const std::vector<LoopId> halves = sketch.split(s, outer, {SketchBuilder::fixed(block)});
  if (steps == outer) steps = halves[1];
  return halves[0];
}

}  // namespace

StageId reduce_along_lanes(PartialSketch& sketch, StageId s, int shares, bool tile) {
  const std::vector<int> axes = lane_axes(sketch.state(), s);
  if (axes.empty()) return -1;
  const StageAccess access = analyze_stage(sketch.state(), s);
  const LoopId whole = sketch.fuse(s, {axes.begin(), axes.end()});
  const int64_t extent = sketch.extent(s, whole);
  const int64_t lanes = std::min<int64_t>(access.lanes, extent);

  std::vector<int> tiled;
  RegisterTile sizes;
  if (tile) tiled = shared_axes(access);
  if (!tiled.empty()) {
    auto extent_of = [&](size_t t) {
      return t < tiled.size() ? access.extent[static_cast<size_t>(tiled[t])] : 1;
    };
    sizes = choose_register_tile(extent_of(0), extent_of(1), 1, sketch.task().target);
  }
  // Enough chains to hide the latency of the combiner, four at least if there is work for them.
  const int64_t most = tiled.empty() ? 4 : std::max<int64_t>(1, 8 / (sizes.rows * sizes.cols));
  const int64_t chains = std::clamp<int64_t>(extent / lanes, 1, most);
  std::vector<Num> factors;
  if (shares > 1) {
    const int64_t steps = ceil_div(extent, lanes * chains);
    factors.push_back(sketch.slot(name_slot(sketch, s, "share"), SlotKind::Tile,
                                  std::max<int64_t>(1, ceil_div(steps, shares))));
  }
  factors.push_back(sketch.slot(name_slot(sketch, s, "chains"), SlotKind::Register, chains));
  factors.push_back(sketch.slot(name_slot(sketch, s, "lanes"), SlotKind::Vector, lanes));
  const std::vector<LoopId> parts = sketch.split(s, whole, factors);
  const LoopId chain = parts[parts.size() - 2], lane = parts.back();
  LoopId steps = parts[parts.size() - 3];

  std::vector<LoopId> terms;  // loops of a chain
  for (LoopId l : sketch.stage(s).order) {
    const bool of_lanes = std::find(parts.begin(), parts.end(), l) != parts.end();
    if (!of_lanes && sketch.loop(s, l).reduce) terms.push_back(l);
  }
  terms.push_back(steps);
  // The registers of a tile hold partial results as they are.
  const LoopId blocks =
      tiled.empty() ? cut_long_chains(sketch, s, terms, lanes * chains, steps) : kNoLoop;

  std::vector<LoopId> order;
  for (LoopId l : sketch.stage(s).order) {
    const bool moved = std::find(parts.begin(), parts.end(), l) != parts.end() || l == steps ||
                       l == blocks || std::find(tiled.begin(), tiled.end(), l) != tiled.end();
    if (!moved && !sketch.loop(s, l).reduce) order.push_back(l);
  }
  if (blocks != kNoLoop) order.push_back(blocks);
  for (LoopId l : sketch.stage(s).order) {
    const bool moved =
        std::find(parts.begin(), parts.end(), l) != parts.end() || l == steps || l == blocks;
    if (!moved && sketch.loop(s, l).reduce) order.push_back(l);
  }
  if (steps != blocks) order.push_back(steps);
  std::vector<LoopId> factored = {chain, lane};
  if (blocks != kNoLoop) factored.insert(factored.begin(), blocks);
  if (shares > 1) {
    order.insert(order.begin(), parts[0]);
    factored.insert(factored.begin(), parts[0]);
  }
  for (int a : tiled) order.push_back(static_cast<LoopId>(a));
  order.push_back(chain);
  order.push_back(lane);
  sketch.reorder(s, order);
  const StageId partial = sketch.rfactor(s, factored);
  if (!sketch.ok()) return partial;

  // The loops of the final stage: outer ones, those of the tile, chains and lanes.
  std::vector<LoopId> outer, inner, combined;
  const std::vector<LoopId> last = sketch.stage(s).order;
  for (LoopId l : last) {
    if (sketch.loop(s, l).reduce) {
      combined.push_back(l);
      continue;
    }
    const std::vector<int> from = axes_of_loop(sketch.stage(s), l);
    const auto t = std::find(tiled.begin(), tiled.end(), from.empty() ? -1 : from[0]);
    if (t == tiled.end()) {
      outer.push_back(l);
      continue;
    }
    const bool first = t == tiled.begin();
    const Num size = sketch.slot(name_slot(sketch, s, first ? "results" : "results across"),
                                 SlotKind::Register, first ? sizes.rows : sizes.cols);
    const std::vector<LoopId> halves = sketch.split(s, l, {size});
    outer.push_back(halves[0]);
    inner.push_back(halves[1]);
  }
  std::vector<LoopId> nest = outer;
  nest.insert(nest.end(), inner.begin(), inner.end());
  nest.insert(nest.end(), combined.begin(), combined.end());
  if (!inner.empty()) sketch.reorder(s, nest);

  // The partial results of a stage at root are computed inside its spatial loops, those of an
  // attached one or of a single element beside it.
  if (shares > 1) {
    sketch.parallel(partial, parts[0]);
  } else if (!outer.empty() && sketch.stage(partial).attach == AttachKind::Root) {
    sketch.compute_at(partial, s, outer.back());
  }
  if (!sketch.ok()) return partial;
  for (int a : tiled) sketch.unroll(partial, static_cast<LoopId>(a));
  sketch.unroll(partial, chain);
  sketch.vectorize(partial, lane);
  // Those of many blocks have no room in registers.
  if (sketch.stage(partial).attach == AttachKind::At && blocks == kNoLoop) {
    sketch.registers(partial);
  }

  for (LoopId l : inner) sketch.unroll(s, l);
  if (combined.size() >= 2) sketch.unroll(s, combined[combined.size() - 2]);
  sketch.vectorize(s, combined.back());
  return partial;
}

void schedule_attached(PartialSketch& sketch, StageId s) {
  const StageAccess access = analyze_stage(sketch.state(), s);
  const StageInfo& info = sketch.task().dag.stage(sketch.stage(s).op);
  if (info.reduce() == nullptr) {
    std::vector<int> axes;
    for (int a = 0; a < access.spatial; ++a) axes.push_back(a);
    vectorize_points(sketch, s, axes);
    return;
  }
  // The last axis of the region that has elements side by side.
  for (int a = access.spatial - 1; a >= 0; --a) {
    const size_t i = static_cast<size_t>(a);
    if (access.extent[i] <= 1) continue;
    const bool consecutive = access.write_stride[i] == 1 &&
                             std::all_of(access.reads.begin(), access.reads.end(),
                                         [&](const ReadAccess& r) { return r.contiguous(a); });
    if (!consecutive) break;
    std::vector<LoopId> order = sketch.stage(s).order;
    std::erase(order, static_cast<LoopId>(a));
    order.push_back(static_cast<LoopId>(a));
    sketch.reorder(s, order);
    if (access.extent[i] <= 4096) sketch.vectorize(s, static_cast<LoopId>(a));
    const bool alone = std::all_of(access.extent.begin(), access.extent.begin() + access.spatial,
                                   [&](int64_t e) { return e == 1 || e == access.extent[i]; }) &&
                       access.spatial_points() == access.extent[i];
    if (alone && access.extent[i] <= access.lanes * sketch.task().target.vector_registers / 2) {
      sketch.registers(s);
    }
    return;
  }
  if (!lane_axes(sketch.state(), s).empty()) reduce_along_lanes(sketch, s);
}

}  // namespace espalier
