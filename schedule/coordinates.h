// Coordinates: what loop values, axes and reads mean in terms of the loops around them.
//
// A coordinate is a linear form over atoms. An atom is a leaf loop of some stage, or a floor
// division or modulo of a linear form (what is left of a fused loop that was split). Regions are
// boxes: in each dimension a linear base over the loops outside a boundary, and a constant width.
#pragma once

#include "espalier/schedule/state.h"

namespace espalier {

struct LinearTerm {
  uint64_t atom = 0;
  int64_t coef = 0;
  friend bool operator==(const LinearTerm&, const LinearTerm&) = default;
};

class Linear {
 public:
  Linear() = default;
  explicit Linear(int64_t constant) : offset(constant) {}
  static Linear of_atom(uint64_t atom) {
    Linear l;
    l.terms.push_back({atom, 1});
    return l;
  }
  std::vector<LinearTerm> terms;  // ascending atoms, no zero coefficients
  int64_t offset = 0;

  bool is_constant() const { return terms.empty(); }
  void add(const Linear& other, int64_t factor = 1);
  friend bool operator==(const Linear&, const Linear&) = default;
};

// Values base, base + 1, ..., base + width - 1.
struct Span {
  Linear base;
  int64_t width = 1;
};

// A place in the nest: inside loop `loop` of `stage`, before or after its inner loops. Loops at or
// outside it have one value there; all others run. stage -1: outside everything.
struct Place {
  StageId stage = -1;
  LoopId loop = kNoLoop;
};

class Coordinates {
 public:
  explicit Coordinates(const State& state) : state_(state) {}

  static uint64_t leaf_atom(StageId s, LoopId l) {
    return (static_cast<uint64_t>(s) << 16) | static_cast<uint16_t>(l);
  }
  static bool is_leaf(uint64_t atom) { return (atom >> 63) == 0; }
  static StageId atom_stage(uint64_t atom) { return static_cast<StageId>(atom >> 16); }
  static LoopId atom_loop(uint64_t atom) { return static_cast<LoopId>(atom & 0xffff); }
  struct Quotient {
    bool modulo = false;
    Linear value;
    int64_t divisor = 1;
    friend bool operator==(const Quotient&, const Quotient&) = default;
  };
  const Quotient& quotient(uint64_t atom) const { return quotients_[atom & ~(uint64_t{1} << 63)]; }

  // The loop's value; for an axis of a region, relative to the region's first element.
  Linear loop_value(StageId s, LoopId l);
  // The coordinate of the definition's axis.
  Linear axis_value(StageId s, int axis);
  // Index of dimension `dim` of what read `r` of the stage reads, in the producer's coordinates;
  // nothing when data decide.
  std::optional<Linear> read_index(StageId s, const StageRead& r, int dim);
  // First element of the region of an attached stage along an axis, where it is computed and where
  // it is stored.
  Linear region_base(StageId s, int axis);
  Linear storage_base(StageId s, int axis);

  // First element along `dim` of the source of what the copy holds, in terms of the loops of
  // `reader`, whose read `r` it serves (or of the copy itself and its own read).
  Linear packed_base(StageId copy, StageId reader, const StageRead& r, int dim);

  // The region of `s` along `axis` that its readers need inside `place`.
  Span region(StageId s, int axis, const Place& place);
  // The region of `s` along `axis` that readers need where `source`, which `s` reads, is computed:
  // the source holds what that takes and no more. Nothing when the source is computed for what one
  // run of `s` takes.
  std::optional<Span> region_known_to(StageId source, StageId s, int axis);
  // What read `r` of `s` covers along `dim` inside `place`, when the loops `fixed` of `s` (besides
  // those outside the place) have one value. It may go beyond the producer (padding, tails).
  Span read_span(StageId s, const StageRead& r, int dim, const Place& place,
                 std::span<const LoopId> fixed = {});

 private:
  struct Boundary {
    Place place;
    StageId fixed_stage = -1;
    std::span<const LoopId> fixed;
  };
  bool encloses(const Boundary& b, StageId s, LoopId leaf) const;
  // True when `s`, or a stage made from it, is on the path of stages that enclose the boundary.
  bool around(const Boundary& b, StageId s) const;
  enum class Side : uint8_t { Outside, Inside, Mixed };
  Side side(const Boundary& b, StageId s, LoopId l) const;
  Span loop_span(const Boundary& b, StageId s, LoopId l);
  Span axis_span(const Boundary& b, StageId s, int axis);
  Span index_span(const Boundary& b, StageId s, const StageRead& r, int dim, bool clamp = true);
  Span region_span(const Boundary& b, StageId s, int axis);
  Span divide(Span v, int64_t divisor);
  Span modulo(Span v, int64_t divisor);
  bool stays_within(const Linear& v, int64_t bound) const;  // 0 <= v < bound
  Linear quotient_of(bool modulo, Linear value, int64_t divisor);
  Place compute_place(StageId s) const;

  const State& state_;
  std::vector<Quotient> quotients_;
};

}  // namespace espalier
