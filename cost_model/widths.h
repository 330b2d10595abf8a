// Widths: how far loops, axes and reads reach while the loops inside some place of the nest run and
// those outside stand still. The same analysis as schedule/coordinates.h, on the numbers of a
// Shape.
#pragma once

#include "espalier/cost_model/shape.h"
#include "espalier/schedule/coordinates.h"

namespace espalier {

class Widths {
 public:
  // What must be there for any iteration, as regions are made, or what is there typically: rows of
  // a fused loop that begin anywhere.
  enum class Estimate : uint8_t { Needed, Typical };
  Widths(const State& state, const Shape& shape, Estimate estimate = Estimate::Needed);

  // A place in the nest: the loops outside it have one value there. Loops `fixed` of `fixed_stage`
  // have one too.
  struct Boundary {
    std::vector<std::pair<StageId, int>> outside;  // a stage and how many of its loops
    StageId fixed_stage = -1;
    std::span<const LoopId> fixed = {};
  };
  Boundary boundary(const Place& place) const;

  Quantity loop(const Boundary& b, StageId s, LoopId l) const { return loop_span(b, s, l).width; }
  Quantity axis(const Boundary& b, StageId s, int axis) const;
  // Of what read `r` of `s` covers along dimension `dim`; not more than the tensor has unless
  // `beyond` (padding and tails may reach beyond it).
  Quantity read(const Boundary& b, StageId s, const StageRead& r, int dim,
                bool beyond = false) const;
  // The region of `s` that its readers need inside the boundary.
  Quantity region(const Boundary& b, StageId s, int axis) const;

 private:
  // base + [0, width): of the base only what tells how it is aligned.
  struct Term {
    uint64_t atom = 0;
    Quantity coef;
    Quantity extent;  // of the atom; 1: it adds nothing
  };
  struct Span {
    std::vector<Term> terms;
    Quantity offset;
    Quantity width = 1;
  };
  bool encloses(const Boundary& b, StageId s, LoopId leaf) const;
  bool around(const Boundary& b, StageId s) const;
  enum class Side : uint8_t { Outside, Inside, Mixed };
  Side side(const Boundary& b, StageId s, LoopId l) const;
  Span loop_span(const Boundary& b, StageId s, LoopId l) const;
  Span axis_span(const Boundary& b, StageId s, int axis) const;
  Span index_span(const Boundary& b, StageId s, const StageRead& r, int dim) const;
  Span region_span(const Boundary& b, StageId s, int axis) const;
  Span divide(const Span& v, const Quantity& divisor) const;
  Span modulo(const Span& v, const Quantity& divisor) const;
  static void add(Span& to, const Span& v, const Quantity& factor);
  const Quantity& extent(StageId s, LoopId l) const {
    return shape_[static_cast<size_t>(s)].extent[static_cast<size_t>(l)];
  }
  Quantity axis_extent(StageId s, int axis) const;

  const State& state_;
  const Shape& shape_;
  const Estimate estimate_;
  std::vector<std::vector<int16_t>> position_;  // by stage and loop; -1: not a leaf
};

}  // namespace espalier
