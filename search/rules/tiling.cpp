// Multi-level tiling of a reduction around a register tile, with its elementwise consumer.
//
// The register tile is rows (unrolled) x columns (vectorized) of accumulators; around it loops over
// tiles in one of several orders, with the reduction cut into cache blocks in some. This is Ansor's
// SSRSRS structure and its "tiling with fusion" (OSDI'20, table 1), with the innermost tile sized
// to the register file, loop orders inside a level and operands packed into panels.
#include <algorithm>

#include "espalier/search/rules/nest_tools.h"
#include "espalier/search/rules/tile_plan.h"
#include "espalier/search/rules/tiling_nest.h"

namespace espalier {
namespace {

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

class TilingRule final : public SketchRule {
 public:
  std::string_view name() const override { return "tiling"; }

  double suits(const PartialSketch& sketch, StageId s) const override {
    const Anchor anchor = find_anchor(sketch, s);
    if (anchor.stage < 0) return 0;
    const StageAccess access = analyze_stage(sketch.state(), anchor.stage);
    if (access.points() <= 1) return 0;
    const TilePlan plan = plan_tile(sketch.state(), anchor.stage);
    if (!plan.good()) return 0;
    // Few lanes in use: a reduction along its own axis may do better.
    return plan.vector_extent * 2 < access.lanes ? 8 : 20;
  }

  void apply(PartialSketch& sketch, StageId s, Chooser& chooser) const override {
    const Anchor anchor = find_anchor(sketch, s);
    TilingNest nest(sketch, chooser, anchor.stage, anchor.epilogue);
    nest.build();
    sketch.finish(anchor.stage);
    if (anchor.epilogue >= 0) sketch.finish(anchor.epilogue);
  }
};

}  // namespace

std::shared_ptr<const SketchRule> make_tiling_rule() { return std::make_shared<TilingRule>(); }

}  // namespace espalier
