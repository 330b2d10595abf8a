#include "espalier/schedule/coordinates.h"

#include <algorithm>

#include "espalier/support/check.h"

namespace espalier {

void Linear::add(const Linear& other, int64_t factor) {
  if (factor == 0) return;
  offset += factor * other.offset;
  if (other.terms.empty()) return;
  if (terms.empty() && factor == 1) {
    terms = other.terms;
    return;
  }
  for (const LinearTerm& t : other.terms) {
    auto it = std::lower_bound(terms.begin(), terms.end(), t.atom,
                               [](const LinearTerm& a, uint64_t atom) { return a.atom < atom; });
    if (it != terms.end() && it->atom == t.atom) {
      it->coef += factor * t.coef;
      if (it->coef == 0) terms.erase(it);
    } else {
      terms.insert(it, {t.atom, factor * t.coef});
    }
  }
}

bool Coordinates::stays_within(const Linear& v, int64_t bound) const {
  int64_t low = v.offset, high = v.offset;
  for (const LinearTerm& t : v.terms) {
    if (!is_leaf(t.atom)) return false;
    const Stage& stage = state_.stage(atom_stage(t.atom));
    const int64_t last = stage.loops[static_cast<size_t>(atom_loop(t.atom))].extent - 1;
    (t.coef < 0 ? low : high) += t.coef * last;
  }
  return low >= 0 && high < bound;
}

Linear Coordinates::quotient_of(bool modulo, Linear value, int64_t divisor) {
  // Whole multiples of the divisor leave the division; without a remainder nothing else is left.
  Linear whole, rest;
  for (const LinearTerm& t : value.terms) {
    (t.coef % divisor == 0 ? whole : rest).terms.push_back(t);
  }
  const int64_t low = ((value.offset % divisor) + divisor) % divisor;
  whole.offset = value.offset - low;
  rest.offset = low;
  if (stays_within(rest, divisor)) {
    if (modulo) return rest;
    for (LinearTerm& t : whole.terms) t.coef /= divisor;
    whole.offset /= divisor;
    return whole;
  }
  Linear result;
  if (!modulo) {
    for (LinearTerm& t : whole.terms) t.coef /= divisor;
    whole.offset /= divisor;
    result = std::move(whole);
  }
  Quotient q{modulo, std::move(rest), divisor};
  size_t i =
      static_cast<size_t>(std::find(quotients_.begin(), quotients_.end(), q) - quotients_.begin());
  if (i == quotients_.size()) quotients_.push_back(std::move(q));
  result.add(Linear::of_atom((uint64_t{1} << 63) | i));
  return result;
}

Linear Coordinates::loop_value(StageId s, LoopId l) {
  const Stage& stage = state_.stage(s);
  const Loop& loop = stage.loops[static_cast<size_t>(l)];
  switch (loop.state) {
    case LoopState::Leaf: return loop.extent == 1 ? Linear(0) : Linear::of_atom(leaf_atom(s, l));
    case LoopState::Bound: return loop_value(loop.bound_stage, loop.bound_loop);
    case LoopState::Absent: return Linear(0);
    case LoopState::Split: {
      const Relation& r = stage.relations[static_cast<size_t>(loop.relation)];
      Linear value;
      int64_t stride = 1;
      for (size_t i = r.parts.size(); i-- > 0;) {
        value.add(loop_value(s, r.parts[i]), stride);
        stride *= stage.loops[static_cast<size_t>(r.parts[i])].extent;
      }
      return value;
    }
    case LoopState::Fused: {
      const Relation& r = stage.relations[static_cast<size_t>(loop.relation)];
      Linear value = loop_value(s, r.whole);
      int64_t inner = 1;  // product of the extents of the parts inside this one
      size_t i = r.parts.size() - 1;
      for (; r.parts[i] != l; --i) inner *= stage.loops[static_cast<size_t>(r.parts[i])].extent;
      if (inner > 1) value = quotient_of(false, std::move(value), inner);
      if (i > 0) value = quotient_of(true, std::move(value), std::max<int64_t>(1, loop.extent));
      return value;
    }
  }
  ESP_UNREACHABLE();
}

Linear Coordinates::axis_value(StageId s, int axis) {
  const Stage& stage = state_.stage(s);
  Linear value = loop_value(s, static_cast<LoopId>(axis));
  if (stage.loops[static_cast<size_t>(axis)].region) {
    value.add(region_base(stage.base_stage, axis));
  }
  return value;
}

std::optional<Linear> Coordinates::read_index(StageId s, const StageRead& r, int dim) {
  const Stage& stage = state_.stage(s);
  if (!stage.layout.empty()) {
    // A copy goes through the dimensions of its source that its layout names by itself; the others
    // have one value where it is made.
    Linear value = packed_base(s, s, r, dim);
    for (size_t e = 0; e < stage.layout.size(); ++e) {
      const LayoutEntry& entry = stage.layout[e];
      if (entry.kind == LayoutEntry::Kind::Loop || entry.index != dim) continue;
      const int64_t stride = entry.kind == LayoutEntry::Kind::DimOuter ? entry.block.value : 1;
      value.add(loop_value(s, stage.storage[e]), stride);
    }
    return value;
  }
  const LinearIndex& index = r.linear[static_cast<size_t>(dim)];
  if (!index.affine) return std::nullopt;
  Linear value(index.offset);
  for (size_t a = 0; a < index.coef.size(); ++a) {
    if (index.coef[a] != 0) value.add(axis_value(s, static_cast<int>(a)), index.coef[a]);
  }
  return value;
}

Place Coordinates::compute_place(StageId s) const {
  const Stage& stage = state_.stage(s);
  if (stage.attach == AttachKind::Root) return {};
  return {stage.attach_stage, stage.attach_loop};
}

Linear Coordinates::region_base(StageId s, int axis) {
  return region(s, axis, compute_place(s)).base;
}

Linear Coordinates::storage_base(StageId s, int axis) {
  const Stage& stage = state_.stage(s);
  if (!stage.loops[static_cast<size_t>(axis)].region || stage.stored_at_root) return Linear(0);
  return region(s, axis, {stage.store_stage, stage.store_loop}).base;
}

Linear Coordinates::packed_base(StageId copy, StageId reader, const StageRead& r, int dim) {
  const Stage& stage = state_.stage(copy);
  std::vector<LoopId> fixed;
  for (size_t e = 0; e < stage.layout.size(); ++e) {
    if (stage.layout[e].kind == LayoutEntry::Kind::Loop) fixed.push_back(stage.layout[e].index);
  }
  return index_span({compute_place(copy), reader, fixed}, reader, r, dim, false).base;
}

Span Coordinates::region(StageId s, int axis, const Place& place) {
  return region_span({place, -1, {}}, s, axis);
}

std::optional<Span> Coordinates::region_known_to(StageId source, StageId s, int axis) {
  const Boundary b{compute_place(source), -1, {}};
  if (around(b, s)) return std::nullopt;
  return region_span(b, s, axis);
}

Span Coordinates::read_span(StageId s, const StageRead& r, int dim, const Place& place,
                            std::span<const LoopId> fixed) {
  return index_span({place, s, fixed}, s, r, dim, false);
}

bool Coordinates::encloses(const Boundary& b, StageId s, LoopId leaf) const {
  Place p = b.place;
  while (p.stage >= 0) {
    const Stage& stage = state_.stage(p.stage);
    if (p.stage == s) {
      for (LoopId l : stage.order) {
        if (p.loop == kNoLoop) break;
        if (l == leaf) return true;
        if (l == p.loop) break;
      }
      return false;
    }
    p = compute_place(p.stage);
  }
  return false;
}

bool Coordinates::around(const Boundary& b, StageId s) const {
  for (Place p = b.place; p.stage >= 0; p = compute_place(p.stage)) {
    // (a copy is not computed where its reader is)
    const Stage& stage = state_.stage(p.stage);
    if (stage.layout.empty() && stage.base_stage == s) return true;
  }
  return false;
}

Coordinates::Side Coordinates::side(const Boundary& b, StageId s, LoopId l) const {
  if (s == b.fixed_stage && std::find(b.fixed.begin(), b.fixed.end(), l) != b.fixed.end()) {
    return Side::Outside;
  }
  const Stage& stage = state_.stage(s);
  const Loop& loop = stage.loops[static_cast<size_t>(l)];
  switch (loop.state) {
    case LoopState::Leaf: return encloses(b, s, l) ? Side::Outside : Side::Inside;
    case LoopState::Bound: return side(b, loop.bound_stage, loop.bound_loop);
    case LoopState::Absent: return Side::Outside;
    case LoopState::Split: {
      const Relation& r = stage.relations[static_cast<size_t>(loop.relation)];
      Side result = side(b, s, r.parts[0]);
      for (size_t i = 1; i < r.parts.size(); ++i) {
        if (side(b, s, r.parts[i]) != result) return Side::Mixed;
      }
      return result;
    }
    case LoopState::Fused:
      return side(b, s, stage.relations[static_cast<size_t>(loop.relation)].whole);
  }
  ESP_UNREACHABLE();
}

Span Coordinates::divide(Span v, int64_t divisor) {
  if (v.width == 1) return {quotient_of(false, std::move(v.base), divisor), 1};
  const bool aligned_terms =
      std::all_of(v.base.terms.begin(), v.base.terms.end(),
                  [&](const LinearTerm& t) { return t.coef % v.width == 0; });
  const bool aligned = aligned_terms && v.base.offset % v.width == 0;
  const bool whole_rows = v.base.offset % divisor == 0 &&
                          std::all_of(v.base.terms.begin(), v.base.terms.end(),
                                      [&](const LinearTerm& t) { return t.coef % divisor == 0; });
  int64_t width = 0;
  if (whole_rows) {
    width = (v.width + divisor - 1) / divisor;
  } else if (aligned && divisor % v.width == 0) {
    width = 1;
  } else {
    width = (v.width - 1 + divisor - 1) / divisor + 1;
  }
  return {quotient_of(false, std::move(v.base), divisor), width};
}

Span Coordinates::modulo(Span v, int64_t divisor) {
  if (v.width == 1) return {quotient_of(true, std::move(v.base), divisor), 1};
  auto multiples_of = [&](int64_t m) {
    return v.base.offset % m == 0 &&
           std::all_of(v.base.terms.begin(), v.base.terms.end(),
                       [&](const LinearTerm& t) { return t.coef % m == 0; });
  };
  const bool stays = (multiples_of(divisor) && v.width <= divisor) ||
                     (divisor % v.width == 0 && multiples_of(v.width));
  if (stays) return {quotient_of(true, std::move(v.base), divisor), v.width};
  return {Linear(0), divisor};
}

Span Coordinates::loop_span(const Boundary& b, StageId s, LoopId l) {
  const Stage& stage = state_.stage(s);
  const Loop& loop = stage.loops[static_cast<size_t>(l)];
  switch (side(b, s, l)) {
    case Side::Outside: return {loop_value(s, l), 1};
    case Side::Inside:
      if (loop.state != LoopState::Bound) return {Linear(0), std::max<int64_t>(1, loop.extent)};
      return loop_span(b, loop.bound_stage, loop.bound_loop);
    case Side::Mixed: break;
  }
  switch (loop.state) {
    case LoopState::Bound: return loop_span(b, loop.bound_stage, loop.bound_loop);
    case LoopState::Split: {
      const Relation& r = stage.relations[static_cast<size_t>(loop.relation)];
      Span result;
      int64_t stride = 1;
      for (size_t i = r.parts.size(); i-- > 0;) {
        Span part = loop_span(b, s, r.parts[i]);
        result.base.add(part.base, stride);
        result.width += stride * (part.width - 1);
        stride *= stage.loops[static_cast<size_t>(r.parts[i])].extent;
      }
      return result;
    }
    case LoopState::Fused: {
      const Relation& r = stage.relations[static_cast<size_t>(loop.relation)];
      Span v = loop_span(b, s, r.whole);
      int64_t inner = 1;
      size_t i = r.parts.size() - 1;
      for (; r.parts[i] != l; --i) inner *= stage.loops[static_cast<size_t>(r.parts[i])].extent;
      if (inner > 1) v = divide(std::move(v), inner);
      if (i > 0) v = modulo(std::move(v), std::max<int64_t>(1, loop.extent));
      return v;
    }
    default: ESP_UNREACHABLE();
  }
}

Span Coordinates::axis_span(const Boundary& b, StageId s, int axis) {
  const Stage& stage = state_.stage(s);
  const Loop& loop = stage.loops[static_cast<size_t>(axis)];
  if (!loop.region) return loop_span(b, s, static_cast<LoopId>(axis));
  // Around the boundary the region's base has one value; inside it the stage covers, over all the
  // iterations, what its readers need there.
  if (!around(b, stage.base_stage)) return region_span(b, stage.base_stage, axis);
  Span v = loop_span(b, s, static_cast<LoopId>(axis));
  v.base.add(region_base(stage.base_stage, axis));
  return v;
}

Span Coordinates::index_span(const Boundary& b, StageId s, const StageRead& r, int dim,
                             bool clamp) {
  const int64_t extent = state_.dag().stage(r.producer).tensor->shape[static_cast<size_t>(dim)];
  const LinearIndex& index = r.linear[static_cast<size_t>(dim)];
  Span whole{Linear(0), std::max<int64_t>(1, extent)};
  if (!index.affine) return whole;
  Span result{Linear(index.offset), 1};
  for (size_t a = 0; a < index.coef.size(); ++a) {
    const int64_t c = index.coef[a];
    if (c == 0) continue;
    Span v = axis_span(b, s, static_cast<int>(a));
    result.base.add(v.base, c);
    if (c < 0) result.base.offset += c * (v.width - 1);
    result.width += std::abs(c) * (v.width - 1);
  }
  return clamp && result.width >= extent ? whole : result;
}

Span Coordinates::region_span(const Boundary& b, StageId s, int axis) {
  const Stage& stage = state_.stage(s);
  const int64_t extent = state_.dag().stage(stage.op).axes[static_cast<size_t>(axis)].extent;
  const Span whole{Linear(0), std::max<int64_t>(1, extent)};
  bool first = true;
  Span result;
  int64_t high = 0;
  for (StageId c = 0; c < state_.size(); ++c) {
    const Stage& reader = state_.stage(c);
    if (reader.attach == AttachKind::Inlined) continue;
    for (const StageRead& r : reader.reads) {
      if (r.source != s) continue;
      Span span =
          r.kind == StageRead::Kind::Loops ? axis_span(b, c, axis) : index_span(b, c, r, axis);
      if (span.width >= extent) return whole;
      if (first) {
        result = std::move(span);
        high = result.base.offset + result.width;
        first = false;
        continue;
      }
      if (span.base.terms != result.base.terms) return whole;
      high = std::max(high, span.base.offset + span.width);
      result.base.offset = std::min(result.base.offset, span.base.offset);
    }
  }
  if (first) return whole;
  result.width = high - result.base.offset;
  return result.width >= extent ? whole : result;
}

}  // namespace espalier
