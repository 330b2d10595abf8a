#include "espalier/cost_model/streams.h"

#include <algorithm>
#include <cmath>

#include "espalier/cost_model/access_dims.h"
#include "espalier/support/check.h"

namespace espalier {
namespace {

using Leaf = AccessDims::Leaf;
using Dim = AccessDims::Dim;

class StreamFinder {
 public:
  StreamFinder(const State& state, const Shape& shape)
      : state_(state),
        shape_(shape),
        dims_(state, shape),
        widths_(state, shape, Widths::Estimate::Typical) {}

  StageNest find(StageId s) {
    const Stage& stage = state_.stage(s);
    StageNest nest;
    nest.stage = s;
    add_path(s, stage.order.size(), nest.path);
    nest.own_from = nest.path.size() - stage.order.size();
    if (!stage.layout.empty()) {
      // Copies are rounded up to whole tiles, everywhere.
      for (PathLoop& l : nest.path) l.effective = l.extent;
    }
    for (PathLoop& l : nest.path) {
      if (loop(l).reduce && is_cut_short(nest.path, l)) l.effective = l.extent;
    }
    for (size_t r = 0; r < stage.reads.size(); ++r) nest.accesses.push_back(access(nest, r));
    nest.accesses.push_back(access(nest, SIZE_MAX));
    std::vector<Widths::Boundary> boundaries = {widths_.boundary(Place{})};  // by position
    for (const PathLoop& l : nest.path) {
      boundaries.push_back(widths_.boundary(Place{l.stage, l.loop}));
    }
    for (const StageAccess& a : nest.accesses) {
      if (!a.in_registers) add_stream(nest, a, boundaries);
    }
    return nest;
  }

 private:
  const Stage& stage(StageId s) const { return state_.stage(s); }
  const StageShape& shape(StageId s) const { return shape_[static_cast<size_t>(s)]; }

  // The first `count` loops of `s` and all around them, outermost first.
  void add_path(StageId s, size_t count, std::vector<PathLoop>& path) const {
    const Stage& st = stage(s);
    if (st.attach == AttachKind::At || st.attach == AttachKind::After) {
      const std::vector<LoopId>& around = stage(st.attach_stage).order;
      const auto at = std::find(around.begin(), around.end(), st.attach_loop);
      add_path(st.attach_stage, static_cast<size_t>(at - around.begin()) + 1, path);
      if (st.attach == AttachKind::After) {
        // It runs once, when the reductions are complete.
        for (PathLoop& p : path) {
          if (p.stage == st.attach_stage && loop(p).reduce) p.extent = p.effective = 1;
        }
      }
    }
    for (size_t i = 0; i < count && i < st.order.size(); ++i) {
      const size_t l = static_cast<size_t>(st.order[i]);
      path.push_back(
          {s, st.order[i], shape(s).extent[l], shape(s).effective[l], st.loops[l].parallel});
    }
  }
  const Loop& loop(const PathLoop& p) const {
    return stage(p.stage).loops[static_cast<size_t>(p.loop)];
  }

  // The outer part of a split whose inner parts lie elsewhere: what is in the path runs as often
  // when the last of them is shorter.
  bool is_cut_short(const std::vector<PathLoop>& path, const PathLoop& l) const {
    const Stage& st = stage(l.stage);
    const Loop& lp = loop(l);
    if (lp.origin < 0) return false;
    const Relation& r = st.relations[static_cast<size_t>(lp.origin)];
    if (r.is_fuse || r.parts.size() < 2) return false;
    return std::none_of(path.begin(), path.end(), [&](const PathLoop& other) {
      return !(other == l) && std::count(r.parts.begin(), r.parts.end(), other.loop) > 0;
    });
  }

  // How far the access reaches along a dimension of its buffer inside the boundary.
  Quantity width(const Widths::Boundary& b, StageId s, const StageAccess& a, size_t d) const {
    const Stage& st = stage(s);
    auto of_loop = [&](LoopId l) {
      return l < st.spatial_axes ? widths_.axis(b, s, l) : widths_.loop(b, s, l);
    };
    Quantity width;
    if (a.read < 0) {
      width = of_loop(st.storage[d]);
    } else {
      const StageRead& r = st.reads[static_cast<size_t>(a.read)];
      const Stage& source = stage(r.source);
      if (!st.layout.empty()) {
        width = copied_width(b, s, r, d);
      } else if (r.kind == StageRead::Kind::Loops) {
        width = of_loop(source.storage[d]);
      } else if (r.kind == StageRead::Kind::Element) {
        width = element_width(b, s, r, d);
      } else {
        const LayoutEntry& entry = source.layout[d];
        const Quantity& block = shape(r.source).block[d];
        width = entry.kind == LayoutEntry::Kind::Loop ? widths_.loop(b, s, entry.index)
                                                      : widths_.read(b, s, r, entry.index, true);
        if (entry.kind == LayoutEntry::Kind::DimOuter) width = ceil_div(width, block);
        if (entry.kind == LayoutEntry::Kind::DimInner) width = min(width, block);
      }
    }
    return min(width, max(1, shape(a.buffer).storage_extent[d]));
  }

  Quantity element_width(const Widths::Boundary& b, StageId s, const StageRead& r, size_t d) const {
    const Expr* index = r.linear[d].affine ? nullptr : dims_.written_index(s, r, d);
    if (index == nullptr) return widths_.read(b, s, r, static_cast<int>(d));
    const std::vector<Axis> axes = dims_.axes_of(s);
    std::vector<Quantity> widths;
    for (size_t a = 0; a < axes.size(); ++a) {
      widths.push_back(widths_.axis(b, s, static_cast<int>(a)));
    }
    const int64_t extent = state_.dag().stage(r.producer).tensor->shape[d];
    return index_width(*index, axes, widths, static_cast<double>(extent));
  }

  // Of the source of a copy. Outside its nest that is what its reader needs there. Inside, its own
  // loops move it, and those of the reader stand still.
  Quantity copied_width(const Widths::Boundary& b, StageId s, const StageRead& r, size_t d) const {
    const Stage& st = stage(s);
    const bool inside = st.attach == AttachKind::Root
                            ? std::any_of(b.outside.begin(), b.outside.end(),
                                          [&](const auto& place) { return place.first == s; })
                            : encloses_attach(b, st);
    if (!inside) return widths_.read(b, s, r, static_cast<int>(d), true);
    Widths::Boundary own = b;
    for (const Loop& l : st.loops) {
      if (l.state != LoopState::Bound || stage(l.bound_stage).order.empty()) continue;
      const Widths::Boundary reader =
          widths_.boundary({l.bound_stage, stage(l.bound_stage).order.back()});
      own.outside.insert(own.outside.begin(), reader.outside.begin(), reader.outside.end());
      break;  // all are bound to one stage
    }
    Quantity width = widths_.read(own, s, r, static_cast<int>(d), true);
    for (size_t e = 0; e < st.layout.size(); ++e) {
      const LayoutEntry& entry = st.layout[e];
      if (entry.kind == LayoutEntry::Kind::Loop || static_cast<size_t>(entry.index) != d) continue;
      const Quantity stride =
          entry.kind == LayoutEntry::Kind::DimOuter ? shape(s).block[e] : Quantity(1);
      width += (widths_.loop(b, s, st.storage[e]) - 1) * stride;
    }
    return width;
  }
  bool encloses_attach(const Widths::Boundary& b, const Stage& st) const {
    const std::vector<LoopId>& around = stage(st.attach_stage).order;
    const auto at = std::find(around.begin(), around.end(), st.attach_loop) - around.begin();
    return std::any_of(b.outside.begin(), b.outside.end(), [&](const auto& place) {
      return place.first == st.attach_stage && place.second > at;
    });
  }

  StageAccess access(const StageNest& nest, size_t read) const {
    const StageId s = nest.stage;
    const Stage& st = stage(s);
    StageAccess a;
    a.read = read == SIZE_MAX ? -1 : static_cast<int>(read);
    a.buffer = a.read < 0 ? s : st.reads[read].source;
    a.in_registers = stage(a.buffer).registers;
    a.element_bytes = bytes_of(buffer_type(state_, a.buffer));
    a.depends.assign(nest.path.size(), false);
    a.strides.assign(nest.path.size(), 0);
    Quantity pitch = 1;
    for (size_t d = dims_.rank(a.buffer); d-- > 0;) {
      const Dim dim = dims_.dim_of(s, a, d);
      for (size_t p = nest.own_from; p < nest.path.size(); ++p) {
        const PathLoop& lane = nest.path[p];
        if (loop(lane).vectorize) a.gathers = max(a.gathers, gathers(s, dim, lane));
      }
      for (size_t p = 0; p < nest.path.size(); ++p) {
        const Leaf leaf{nest.path[p].stage, nest.path[p].loop};
        if (std::find(dim.leaves.begin(), dim.leaves.end(), leaf) == dim.leaves.end()) continue;
        a.depends[p] = true;
        for (const auto& [l, factor] : dim.terms)
          a.strides[p] += dims_.step(s, l, leaf) * factor * pitch;
      }
      pitch *= max(1, shape(a.buffer).storage_extent[d]);
    }
    return a;
  }

  // 1 if the lanes of the vectorized loop lie where no stride says.
  Quantity gathers(StageId s, const Dim& dim, const PathLoop& lane) const {
    const Leaf leaf{lane.stage, lane.loop};
    const auto depends = std::find(dim.leaves.begin(), dim.leaves.end(), leaf);
    if (depends == dim.leaves.end()) return 0;
    if (dim.data) return 1;
    Quantity result = 0;
    for (const auto& [axis, period] : dim.periods) {
      const Quantity run = dims_.step(s, axis, leaf) * max(1, lane.extent);
      // (an axis that stands still is in order)
      const Quantity aligned = if_le(run, 0, 0, remainder(period, max(1, run)));
      result = max(result, if_le(aligned, 0, 0, 1));
    }
    return result;
  }

  // The loops outside of which the buffer lives: there it is the same memory.
  size_t lives_from(const StageNest& nest, StageId buffer) const {
    const Stage& b = stage(buffer);
    if (b.stored_at_root || b.role == StageRole::Input) return 0;
    for (size_t i = 0; i < nest.path.size(); ++i) {
      if (nest.path[i] == PathLoop{b.store_stage, b.store_loop, 1, 1}) return i + 1;
    }
    return 0;
  }

  void add_stream(StageNest& nest, const StageAccess& a,
                  const std::vector<Widths::Boundary>& boundaries) const {
    const StageId owner = stage(a.buffer).shares >= 0 ? stage(a.buffer).shares : a.buffer;
    auto it = std::find_if(nest.streams.begin(), nest.streams.end(),
                           [&](const Stream& x) { return x.buffer == owner; });
    const bool fresh = it == nest.streams.end();
    if (fresh) {
      nest.streams.push_back({});
      it = nest.streams.end() - 1;
      it->buffer = owner;
      it->element_bytes = a.element_bytes;
      it->elements.assign(nest.path.size() + 1, 0);
      it->lines.assign(nest.path.size() + 1, 0);
      it->rows.resize(nest.path.size() + 1);
      it->depends.assign(nest.path.size(), false);
      it->strides = a.strides;
    }
    it->read = it->read || a.read >= 0 || accumulates(state_, nest.stage);
    it->written = it->written || a.read < 0;
    const size_t from = lives_from(nest, a.buffer);
    for (size_t p = from; p < nest.path.size(); ++p) {
      if (a.depends[p]) it->depends[p] = true;
    }
    for (size_t p = 0; p <= nest.path.size(); ++p) {
      const size_t at = std::max(p, std::min(from, nest.path.size()));
      if (p < from && p > 0) continue;  // filled below
      touch(*it, p, boundaries[at], nest.stage, a, fresh);
    }
    // Outside the loop at which the buffer lives it is the same memory over and over.
    for (size_t p = from; p-- > 1;) {
      it->elements[p] = it->elements[from];
      it->lines[p] = it->lines[from];
      it->rows[p] = it->rows[from];
    }
  }

  void touch(Stream& stream, size_t p, const Widths::Boundary& b, StageId s, const StageAccess& a,
             bool fresh) const {
    const size_t dims = dims_.rank(a.buffer);
    const std::vector<Quantity>& extents = shape(a.buffer).storage_extent;
    const double line = state_.task().target.line_bytes;
    const double per_line = line / a.element_bytes;
    // Dimensions that are covered whole run on into the next one.
    Quantity elements = 1, run = 1, rows = 1, whole = 1, reach = 1;
    std::vector<Quantity> width(dims);
    for (size_t d = 0; d < dims; ++d) width[d] = this->width(b, s, a, d);
    for (size_t d = dims; d-- > 0;) {
      const Quantity extent = max(1, extents[d]);
      elements *= width[d];
      reach += (width[d] - 1) * whole;
      rows = if_le(whole, run, rows, rows * width[d]);
      run = if_le(whole, run, run * width[d], run);
      whole *= extent;
    }
    // A run that need not begin with a line touches one more, now and then.
    const Quantity ragged = dims > 0 ? remainder(max(1, extents[dims - 1]), per_line) : Quantity(0);
    auto lines_of = [&](const Quantity& n) {
      return if_le(ragged, 0, ceil(n / per_line), (n - 1) / per_line + 1);
    };
    const Quantity lines = min(rows * lines_of(run), lines_of(reach));
    if (fresh) {
      stream.elements[p] = elements;
      stream.lines[p] = lines;
    } else {
      stream.elements[p] = max(stream.elements[p], elements);
      stream.lines[p] = max(stream.lines[p], lines);
      return;
    }
    // Arguments and results have the shape that the program says.
    const bool fixed =
        stage(a.buffer).role == StageRole::Input ||
        (stage(a.buffer).stored_at_root && stage(a.buffer).layout.empty() &&
         !stage(a.buffer).partial && state_.dag().stage(stage(a.buffer).op).is_output);
    Quantity pitch = 1, inner = 1;
    for (size_t d = dims; d-- > 0;) {
      if (fixed && d + 1 < dims) {
        const double pitch_lines = pitch.number() / per_line;
        if (pitch_lines == std::floor(pitch_lines) && pitch_lines >= 8) {
          stream.rows[p].push_back({width[d], inner, pitch_lines});
        }
      }
      inner = d + 1 == dims ? lines_of(width[d]) : inner * width[d];
      pitch *= max(1, extents[d]);
    }
  }

  const State& state_;
  const Shape& shape_;
  const AccessDims dims_;
  const Widths widths_;
};

}  // namespace

bool accumulates(const State& state, StageId s) {
  const Stage& stage = state.stage(s);
  if (!stage.layout.empty() || state.dag().stage(stage.op).reduce() == nullptr) return false;
  return stage.role != StageRole::WriteBack || stage.has_own_reduce();
}

DType buffer_type(const State& state, StageId s) {
  const Stage& stage = state.stage(s);
  const int op = stage.layout.empty() ? stage.op : stage.reads[0].producer;
  return state.dag().stage(op).tensor->dtype;
}

std::vector<StageNest> find_streams(const State& state, const Shape& shape) {
  std::vector<StageNest> nests;
  StreamFinder finder(state, shape);
  for (StageId s : state.execution_order()) {
    const Stage& stage = state.stage(s);
    if (stage.role == StageRole::Input || stage.role == StageRole::Pack ||
        stage.attach == AttachKind::Inlined) {
      continue;
    }
    nests.push_back(finder.find(s));
  }
  return nests;
}

}  // namespace espalier
