// A reduction at root whose terms lie side by side: lanes and chains of partial results (Ansor's
// rfactor rule, decided by vectors rather than by threads), and, where there are fewer elements
// than threads, partial results in parallel.
#include "espalier/search/rules/nest_tools.h"
#include "espalier/search/rules/row_reduction.h"

namespace espalier {
namespace {

class RfactorRule final : public SketchRule {
 public:
  std::string_view name() const override { return "rfactor"; }

  double suits(const PartialSketch& sketch, StageId s) const override {
    const std::vector<int> axes = lane_axes(sketch.state(), s);
    if (axes.empty()) return 0;
    const StageAccess access = analyze_stage(sketch.state(), s);
    int64_t terms = 1;
    for (int a : axes) terms *= access.extent[static_cast<size_t>(a)];
    if (terms < access.lanes) return 3;
    if (access.spatial_points() * 2 < access.lanes) return 30;
    if (!sketch.task().dag.stage(sketch.stage(s).op).anchor) return 12;
    return lanes_suit_better(sketch.state(), s) ? 21 : 3;
  }

  void apply(PartialSketch& sketch, StageId s, Chooser& chooser) const override {
    const StageAccess access = analyze_stage(sketch.state(), s);
    const double work = work_of(sketch.state(), s);
    const int threads = sketch.task().threads;
    int shares = 1;
    if (threads > 1 && access.spatial_points() < threads) {
      const bool worth = work >= 2 * kWorthWakingUs;
      if (chooser.flag("partial results in parallel", worth)) shares = threads;
    }
    const bool shared = shares == 1 && !shared_axes(analyze_stage(sketch.state(), s)).empty();
    const bool tile = shared && chooser.flag("results side by side", true);
    reduce_along_lanes(sketch, s, shares, tile);
    if (sketch.ok() && shares == 1 && threads > 1 && work >= kWorthWakingUs) {
      // Threads share the elements: the outermost loop that has some for each of them.
      LoopId rows = kNoLoop;
      for (LoopId l : sketch.stage(s).order) {
        if (!sketch.loop(s, l).reduce && sketch.extent(s, l) >= threads) {
          rows = l;
          break;
        }
      }
      if (rows != kNoLoop && chooser.flag("parallel rows", true)) sketch.parallel(s, rows);
    }
    sketch.finish(s);
  }
};

}  // namespace

std::shared_ptr<const SketchRule> make_rfactor_rule() { return std::make_shared<RfactorRule>(); }

}  // namespace espalier
