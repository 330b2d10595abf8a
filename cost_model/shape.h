// Shape: the numbers of a schedule apart from its structure. Models read the structure off a State
// and do arithmetic on its Shape, which holds either the state's own numbers or formulas over the
// decisions of its sketch.
#pragma once

#include "espalier/cost_model/formula.h"
#include "espalier/schedule/state.h"

namespace espalier {

struct StageShape {
  std::vector<Quantity> extent;          // by loop
  std::vector<Quantity> unrolled;        // by loop: 1 if it is straight code, else 0
  std::vector<Quantity> storage_extent;  // as in Stage
  std::vector<Quantity> block;           // by layout entry: elements of a block, or 0
  // By loop: iterations that happen, on average. The outermost part of a split has a fraction where
  // the inner parts do not divide, so that the loops of an axis multiply to its extent.
  std::vector<Quantity> effective;
  // By loop: the inner part of a split covers `units` steps in runs of its extent, of which the
  // last one may be shorter; equal to the extent for other loops.
  std::vector<Quantity> units;
};

using Shape = std::vector<StageShape>;  // by stage

// The state's own numbers.
Shape shape_of(const State& state);

// A sketch with its numbers as formulas, and the state it has for one set of decisions: all its
// candidates have that structure.
struct SketchShape {
  State state;
  Shape shape;
};
// Nothing if the sketch is rejected with these decisions. `builder` must outlive the shape.
std::optional<SketchShape> shape_of(const Task& task, const Sketch& sketch,
                                    std::span<const int32_t> decisions, FormulaBuilder& builder);

}  // namespace espalier
