// IndexForm: how an index that is no linear form moves with the axes: channel / 8 and channel % 8
// of grouped convolutions, rows that data choose.
#pragma once

#include "espalier/cost_model/formula.h"
#include "espalier/ir/dag.h"

namespace espalier {

struct IndexForm {
  bool known = true;  // false: data decide
  // By axis: what one step moves the index by, and for how many steps on end, counted from a
  // multiple of that number, it is so (0: always).
  std::vector<double> step, period;
};
// `axes` are the spatial axes, then those of the reduction.
IndexForm index_form(const Expr& index, const std::vector<Axis>& axes);

// How many values on end the index takes when the axes take so many, the first of which is a
// multiple of that number; at most `extent`.
Quantity index_width(const Expr& index, const std::vector<Axis>& axes,
                     const std::vector<Quantity>& widths, double extent);

}  // namespace espalier
