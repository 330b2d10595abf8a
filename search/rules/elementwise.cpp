// Points: every element from few others, no reduction. Axes that act as one become one loop, its
// inner part goes in vectors, its outer part to the threads.
#include <algorithm>

#include "espalier/search/rules/nest_tools.h"

namespace espalier {
namespace {

class ElementwiseRule final : public SketchRule {
 public:
  std::string_view name() const override { return "elementwise"; }

  double suits(const PartialSketch& sketch, StageId s) const override {
    if (sketch.task().dag.stage(sketch.stage(s).op).reduce() != nullptr) return 0;
    return sketch.stage(s).spatial_axes > 0 ? 1 : 0;
  }

  void apply(PartialSketch& sketch, StageId s, Chooser& chooser) const override {
    const double work = work_of(sketch.state(), s);
    std::vector<int> axes;
    for (int a = 0; a < sketch.stage(s).spatial_axes; ++a) axes.push_back(a);
    vectorize_points(sketch, s, axes);
    std::vector<LoopId> outer;
    for (LoopId l : sketch.stage(s).order) {
      if (!sketch.loop(s, l).vectorize) outer.push_back(l);
    }
    parallelize(sketch, s, &outer, work, chooser);
    sketch.finish(s);
  }
};

}  // namespace

std::shared_ptr<const SketchRule> make_elementwise_rule() {
  return std::make_shared<ElementwiseRule>();
}

}  // namespace espalier
