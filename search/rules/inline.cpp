// Which stages are computed where they are read (Ansor's always-inline rule, decided by what is
// computed again).
#include <algorithm>

#include "espalier/schedule/code_size.h"
#include "espalier/search/rule.h"
#include "espalier/search/stage_access.h"

namespace espalier {
namespace {

// How often an element of the stage would be computed when it is inlined.
double repeats(const State& state, StageId s) {
  double evaluations = 0;
  for (StageId c : readers_of(state, s)) {
    double points = static_cast<double>(analyze_stage(state, c).points());
    for (const StageRead& r : state.stage(c).reads) {
      if (r.source == s) evaluations += points;
    }
  }
  const double elements = static_cast<double>(analyze_stage(state, s).spatial_points());
  return evaluations / std::max(1.0, elements);
}

class InlineRule final : public SketchRule {
 public:
  std::string_view name() const override { return "inline"; }
  RulePhase phase() const override { return RulePhase::Inline; }

  double suits(const PartialSketch& sketch, StageId s) const override {
    const StageInfo& info = sketch.task().dag.stage(s);
    const bool possible = info.inlineable && !readers_of(sketch.state(), s).empty() &&
                          inlined_code_size(sketch.state(), s) <= kMaxInlinedCodeSize;
    return possible ? 1 : 0;
  }

  void apply(PartialSketch& sketch, StageId s, Chooser& chooser) const override {
    const StageInfo& info = sketch.task().dag.stage(s);
    const double again = repeats(sketch.state(), s);
    bool inlined = true;
    if (again > 1.05) {
      // Computed again: fine for a move or an operation or two, unless a whole row would repeat
      // what one element says.
      const double cost = body_cost(info);
      const bool cheap = cost <= 2 && !has_select(info) && (cost == 0 || again <= 16);
      inlined = chooser.flag("inline " + info.name, cheap);
    }
    if (!inlined) return;  // it gets a nest in the next phase
    sketch.inline_stage(s);
    sketch.finish(s);
  }
};

}  // namespace

std::shared_ptr<const SketchRule> make_inline_rule() { return std::make_shared<InlineRule>(); }

}  // namespace espalier
