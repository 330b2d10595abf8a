// Multi-level tiling of a reduction around a register tile, with its elementwise consumer.
//
// The register tile is rows (unrolled) x columns (vectorized) of accumulators; around it loops over
// tiles in one of several orders, with the reduction cut into cache blocks in some. This is Ansor's
// SSRSRS structure and its "tiling with fusion" (OSDI'20, table 1), with the innermost tile sized
// to the register file, loop orders inside a level and operands packed into panels.
#include <algorithm>
#include <optional>

#include "espalier/search/rules/nest_tools.h"
#include "espalier/search/rules/row_reduction.h"
#include "espalier/search/rules/tile_plan.h"
#include "espalier/search/rules/tiling_nest.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

// A vector of more lanes is refused.
constexpr int64_t kMostLanes = 4096;

struct Anchor {
  StageId stage = -1;     // the reduction
  StageId epilogue = -1;  // its only consumer, elementwise; -1: none
};

// The reduction that `s` is, or that it is the only and elementwise consumer of.
Anchor find_anchor(const PartialSketch& sketch, StageId s) {
  const State& state = sketch.state();
  auto reduces = [&](StageId t) {
    const StageInfo& info = state.dag().stage(state.stage(t).op);
    return info.reduce() != nullptr && !sketch.finished(t);
  };
  if (reduces(s)) return {s, -1};
  // The latest of several: what comes before it is then complete.
  Anchor anchor;
  for (const StageRead& r : state.stage(s).reads) {
    const StageId t = r.source;
    if (t < 0 || t >= state.dag().size() || !reduces(t)) continue;
    if (state.dag().stage(t).is_output || readers_of(state, t).size() != 1) continue;
    if (reads_at_own_index(state, s, t)) anchor = {std::max(anchor.stage, t), s};
  }
  return anchor;
}

// Whether threads should share the terms rather than the results, which are few; nothing if they
// cannot.
std::optional<bool> worth_sharing(const PartialSketch& sketch, StageId s) {
  const int threads = sketch.task().threads;
  const StageInfo& info = sketch.task().dag.stage(sketch.stage(s).op);
  const StageAccess access = analyze_stage(sketch.state(), s);
  if (threads <= 1 || !info.reduce()->combiner.reorderable) return {};
  if (access.reduce_points() < 256 * threads) return {};
  const RegisterTile tile = plan_tiles(sketch.state(), s).plans[0].rows[0].tile;
  const int64_t tiles = ceil_div(access.spatial_points(), tile.rows * tile.cols);
  if (tiles >= 8 * threads) return {};
  // Every thread reads the operands that its results share; of long panels that is most of the
  // work.
  const bool long_panel =
      panel_bytes(access, tile, bytes_of(info.tensor->dtype)) > sketch.task().target.l2_bytes;
  return work_of(sketch.state(), s) >= 2 * kWorthWakingUs && (tiles < threads || long_panel);
}

// Cuts the longest reduction axis into a part for each thread. What the parts come to is the
// result's, summed up at root, and its epilogue's.
StageId share_reduction(PartialSketch& sketch, const Anchor& anchor) {
  const StageId s = anchor.stage;
  const StageAccess access = analyze_stage(sketch.state(), s);
  int longest = access.spatial;
  for (int a = access.spatial; a < access.axes(); ++a) {
    if (access.extent[static_cast<size_t>(a)] > access.extent[static_cast<size_t>(longest)]) {
      longest = a;
    }
  }
  const int64_t extent = access.extent[static_cast<size_t>(longest)];
  const std::vector<LoopId> parts =
      sketch.split(s, static_cast<LoopId>(longest),
                   {sketch.slot(name_slot(sketch, s, "share"), SlotKind::Tile,
                                ceil_div(extent, sketch.task().threads))});
  const StageId partial = sketch.rfactor(s, {parts[0]});
  if (!sketch.ok()) return partial;
  std::vector<LoopId> order = sketch.stage(s).order;
  std::swap(order[order.size() - 2], order.back());
  sketch.reorder(s, order);
  if (sketch.extent(s, order.back()) <= kMostLanes) sketch.vectorize(s, order.back());
  if (anchor.epilogue >= 0) {
    std::vector<int> axes;
    for (int a = 0; a < access.spatial; ++a) axes.push_back(a);
    vectorize_points(sketch, anchor.epilogue, axes);
  }
  return partial;
}

class TilingRule final : public SketchRule {
 public:
  std::string_view name() const override { return "tiling"; }

  double suits(const PartialSketch& sketch, StageId s) const override {
    const Anchor anchor = find_anchor(sketch, s);
    if (anchor.stage < 0) return 0;
    const TilePlans tiles = plan_tiles(sketch.state(), anchor.stage);
    if (tiles.access.points() <= 1 || tiles.plans.empty()) return 0;
    // With lanes along its terms the reduction has a nest of its own, and so has what follows it.
    if (anchor.epilogue >= 0 && lanes_suit_better(sketch.state(), anchor.stage)) return 0.5;
    // Few lanes in use: a reduction along its own axis may do better.
    const auto columns = static_cast<size_t>(tiles.plans[0].vector_axis);
    return tiles.access.extent[columns] * 2 < tiles.access.lanes ? 8 : 20;
  }

  void apply(PartialSketch& sketch, StageId s, Chooser& chooser) const override {
    const Anchor anchor = find_anchor(sketch, s);
    const std::optional<bool> worth = worth_sharing(sketch, anchor.stage);
    if (worth && chooser.flag("threads share the reduction", *worth)) {
      const StageId partial = share_reduction(sketch, anchor);
      if (sketch.ok()) TilingNest(sketch, chooser, partial, -1).build();
    } else {
      TilingNest(sketch, chooser, anchor.stage, anchor.epilogue).build();
    }
    sketch.finish(anchor.stage);
    if (anchor.epilogue >= 0) sketch.finish(anchor.epilogue);
  }
};

}  // namespace

std::shared_ptr<const SketchRule> make_tiling_rule() { return std::make_shared<TilingRule>(); }

}  // namespace espalier
