// The rule that always applies: the nest as it is defined. It is offered where nothing else suits,
// and where what suits was rejected.
#include "espalier/search/rule.h"

namespace espalier {
namespace {

class PlainRule final : public SketchRule {
 public:
  std::string_view name() const override { return "plain"; }
  double suits(const PartialSketch&, StageId) const override { return 1e-6; }
  void apply(PartialSketch& sketch, StageId s, Chooser&) const override { sketch.finish(s); }
};

}  // namespace

std::shared_ptr<const SketchRule> make_plain_rule() { return std::make_shared<PlainRule>(); }

}  // namespace espalier
