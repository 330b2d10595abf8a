// SketchRule: one way to schedule a stage. Rules look at accesses, strides and reuse, never at
// names of operators.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "espalier/search/chooser.h"
#include "espalier/search/sketch_builder.h"

namespace espalier {

// Stages are visited from the last to the first, once in each phase.
enum class RulePhase : uint8_t {
  Inline,  // which stages lose their own nests
  Nest,    // the loops of those that are left
};

// The sketch so far, and which stages have their schedule.
class PartialSketch : public SketchBuilder {
 public:
  explicit PartialSketch(const Task& task)
      : SketchBuilder(task), finished_(static_cast<size_t>(task.dag.size()), false) {}

  // Of the DAG's own stages.
  bool finished(StageId s) const { return finished_[static_cast<size_t>(s)]; }
  void finish(StageId s) { finished_[static_cast<size_t>(s)] = true; }

 private:
  std::vector<bool> finished_;
};

class SketchRule {
 public:
  virtual ~SketchRule() = default;
  virtual std::string_view name() const = 0;
  virtual RulePhase phase() const { return RulePhase::Nest; }
  // How well the rule suits the stage, which is not finished: 0 not at all. Where several rules
  // suit, the best is preferred, and those that come near it (a tenth or more) are variants.
  virtual double suits(const PartialSketch& sketch, StageId stage) const = 0;
  // Schedules the stage, and perhaps producers that go along with it, and finishes them.
  virtual void apply(PartialSketch& sketch, StageId stage, Chooser& chooser) const = 0;
};

using SketchRules = std::vector<std::shared_ptr<const SketchRule>>;

// The rules of search/rules, one function a file.
std::shared_ptr<const SketchRule> make_inline_rule();
std::shared_ptr<const SketchRule> make_row_fusion_rule();
std::shared_ptr<const SketchRule> make_tiling_rule();
std::shared_ptr<const SketchRule> make_rfactor_rule();
std::shared_ptr<const SketchRule> make_transpose_rule();
std::shared_ptr<const SketchRule> make_elementwise_rule();
std::shared_ptr<const SketchRule> make_plain_rule();
SketchRules default_rules();

}  // namespace espalier
