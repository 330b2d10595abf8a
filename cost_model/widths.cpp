#include "espalier/cost_model/widths.h"

#include <algorithm>
#include <cmath>

#include "espalier/support/check.h"

namespace espalier {
namespace {

constexpr uint64_t kOpaque = uint64_t{1} << 63;  // a quotient: nothing is known of it

}  // namespace

Widths::Widths(const State& state, const Shape& shape, Estimate estimate)
    : state_(state), shape_(shape), estimate_(estimate) {
  position_.resize(static_cast<size_t>(state.size()));
  for (StageId s = 0; s < state.size(); ++s) {
    const Stage& stage = state.stage(s);
    std::vector<int16_t>& position = position_[static_cast<size_t>(s)];
    position.assign(stage.loops.size(), -1);
    for (size_t i = 0; i < stage.order.size(); ++i) {
      position[static_cast<size_t>(stage.order[i])] = static_cast<int16_t>(i);
    }
  }
}

Widths::Boundary Widths::boundary(const Place& place) const {
  Boundary b;
  for (Place p = place; p.stage >= 0;) {
    const int loops =
        p.loop == kNoLoop
            ? 0
            : position_[static_cast<size_t>(p.stage)][static_cast<size_t>(p.loop)] + 1;
    b.outside.emplace_back(p.stage, loops);
    const Stage& stage = state_.stage(p.stage);
    p = stage.attach == AttachKind::Root ? Place{} : Place{stage.attach_stage, stage.attach_loop};
  }
  return b;
}

Quantity Widths::axis(const Boundary& b, StageId s, int a) const {
  return axis_span(b, s, a).width;
}

Quantity Widths::read(const Boundary& b, StageId s, const StageRead& r, int dim,
                      bool beyond) const {
  const Quantity width = index_span(b, s, r, dim).width;
  if (beyond) return width;
  const int64_t extent = state_.dag().stage(r.producer).tensor->shape[static_cast<size_t>(dim)];
  return min(width, Quantity(static_cast<double>(extent)));
}

Quantity Widths::region(const Boundary& b, StageId s, int a) const {
  return region_span(b, s, a).width;
}

bool Widths::encloses(const Boundary& b, StageId s, LoopId leaf) const {
  for (const auto& [stage, loops] : b.outside) {
    if (stage != s) continue;
    const int at = position_[static_cast<size_t>(s)][static_cast<size_t>(leaf)];
    return at >= 0 && at < loops;
  }
  return false;
}

bool Widths::around(const Boundary& b, StageId s) const {
  return std::any_of(b.outside.begin(), b.outside.end(), [&](const auto& place) {
    const Stage& stage = state_.stage(place.first);
    return stage.layout.empty() && stage.base_stage == s;
  });
}

Widths::Side Widths::side(const Boundary& b, StageId s, LoopId l) const {
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
      const Side result = side(b, s, r.parts[0]);
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

void Widths::add(Span& to, const Span& v, const Quantity& factor) {
  for (const Term& t : v.terms) to.terms.push_back({t.atom, t.coef * factor, t.extent});
  to.offset += v.offset * factor;
}

namespace {

// x if every term and the offset are multiples of `m`, else y.
template <class SpanT>
Quantity if_multiple(const SpanT& v, const Quantity& m, const Quantity& x, const Quantity& y) {
  Quantity left_over = remainder(v.offset, m);
  for (const auto& t : v.terms) {
    // (an atom that is always 0 counts for nothing)
    left_over += if_le(t.extent, 1, 0, remainder(t.coef, m));
  }
  return if_le(left_over, 0, x, y);
}

}  // namespace

Widths::Span Widths::divide(const Span& v, const Quantity& divisor) const {
  const Quantity straddling = estimate_ == Estimate::Typical ? (v.width - 1) / divisor + 1
                                                             : ceil_div(v.width - 1, divisor) + 1;
  const Quantity within =
      if_le(remainder(divisor, v.width), 0, if_multiple(v, v.width, 1, straddling), straddling);
  Span result;
  result.width = if_multiple(v, divisor, ceil_div(v.width, divisor), within);
  result.width = if_le(v.width, 1, 1, result.width);
  result.terms.push_back({kOpaque, 1, INFINITY});
  return result;
}

Widths::Span Widths::modulo(const Span& v, const Quantity& divisor) const {
  const Quantity straddling = estimate_ == Estimate::Typical ? min(v.width, divisor) : divisor;
  Quantity width = if_le(remainder(divisor, v.width), 0,
                         if_multiple(v, v.width, v.width, straddling), straddling);
  width = if_le(v.width, divisor, if_multiple(v, divisor, v.width, width), width);
  Span result;
  result.width = if_le(v.width, 1, 1, width);
  result.terms.push_back({kOpaque, 1, INFINITY});
  return result;
}

Widths::Span Widths::loop_span(const Boundary& b, StageId s, LoopId l) const {
  const Stage& stage = state_.stage(s);
  const Loop& loop = stage.loops[static_cast<size_t>(l)];
  Span result;
  switch (loop.state) {
    case LoopState::Leaf:
      if (side(b, s, l) == Side::Inside) {
        result.width = max(1, extent(s, l));
      } else {
        result.terms.push_back({Coordinates::leaf_atom(s, l), 1, extent(s, l)});
      }
      return result;
    case LoopState::Bound: return loop_span(b, loop.bound_stage, loop.bound_loop);
    case LoopState::Absent: return result;
    case LoopState::Split: {
      if (side(b, s, l) == Side::Inside) {
        result.width = max(1, extent(s, l));
        return result;
      }
      const Relation& r = stage.relations[static_cast<size_t>(loop.relation)];
      Quantity stride = 1;
      for (size_t i = r.parts.size(); i-- > 0;) {
        const Span part = loop_span(b, s, r.parts[i]);
        add(result, part, stride);
        result.width += stride * (part.width - 1);
        stride *= extent(s, r.parts[i]);
      }
      return result;
    }
    case LoopState::Fused: {
      if (side(b, s, l) == Side::Inside) {
        result.width = max(1, extent(s, l));
        return result;
      }
      const Relation& r = stage.relations[static_cast<size_t>(loop.relation)];
      Span v = loop_span(b, s, r.whole);
      Quantity inner = 1;
      size_t i = r.parts.size() - 1;
      for (; r.parts[i] != l; --i) inner *= extent(s, r.parts[i]);
      inner = max(1, inner);
      if (!(inner.is_number() && inner.number() == 1)) v = divide(v, inner);
      if (i > 0) v = modulo(v, max(1, extent(s, l)));
      return v;
    }
  }
  ESP_UNREACHABLE();
}

Quantity Widths::axis_extent(StageId s, int a) const {
  const int64_t extent = state_.dag().stage(state_.stage(s).op).axes[static_cast<size_t>(a)].extent;
  return static_cast<double>(std::max<int64_t>(1, extent));
}

Widths::Span Widths::axis_span(const Boundary& b, StageId s, int a) const {
  const Stage& stage = state_.stage(s);
  if (!stage.loops[static_cast<size_t>(a)].region) return loop_span(b, s, static_cast<LoopId>(a));
  if (!around(b, stage.base_stage)) return region_span(b, stage.base_stage, a);
  Span v = loop_span(b, s, static_cast<LoopId>(a));
  const Stage& base = state_.stage(stage.base_stage);
  if (base.attach != AttachKind::Root) {
    add(v, region_span(boundary({base.attach_stage, base.attach_loop}), stage.base_stage, a), 1);
  }
  return v;
}

Widths::Span Widths::index_span(const Boundary& b, StageId s, const StageRead& r, int dim) const {
  const LinearIndex& index = r.linear[static_cast<size_t>(dim)];
  Span result;
  if (!index.affine) {
    const int64_t extent = state_.dag().stage(r.producer).tensor->shape[static_cast<size_t>(dim)];
    result.width = static_cast<double>(std::max<int64_t>(1, extent));
    return result;
  }
  result.offset = static_cast<double>(index.offset);
  for (size_t a = 0; a < index.coef.size(); ++a) {
    const int64_t c = index.coef[a];
    if (c == 0) continue;
    const Span v = axis_span(b, s, static_cast<int>(a));
    add(result, v, static_cast<double>(c));
    if (c < 0) result.offset += static_cast<double>(c) * (v.width - 1);
    result.width += static_cast<double>(std::abs(c)) * (v.width - 1);
  }
  return result;
}

Widths::Span Widths::region_span(const Boundary& b, StageId s, int a) const {
  const Quantity whole = axis_extent(s, a);
  Span result;
  Quantity high;
  bool first = true, differ = false;
  for (StageId c = 0; c < state_.size(); ++c) {
    const Stage& reader = state_.stage(c);
    if (reader.attach == AttachKind::Inlined) continue;
    for (const StageRead& r : reader.reads) {
      if (r.source != s) continue;
      Span span = r.kind == StageRead::Kind::Loops ? axis_span(b, c, a) : index_span(b, c, r, a);
      if (first) {
        high = span.offset + span.width;
        result = std::move(span);
        first = false;
        continue;
      }
      // Regions that lie side by side have one base but for a constant.
      bool same = span.terms.size() == result.terms.size();
      for (size_t i = 0; same && i < span.terms.size(); ++i) {
        same = span.terms[i].atom == result.terms[i].atom && span.terms[i].atom != kOpaque &&
               span.terms[i].coef.same_as(result.terms[i].coef);
      }
      differ = differ || !same;
      high = max(high, span.offset + span.width);
      result.offset = min(result.offset, span.offset);
    }
  }
  if (first || differ) {
    Span all;
    all.width = whole;
    return all;
  }
  result.width = min(whole, high - result.offset);
  return result;
}

}  // namespace espalier
