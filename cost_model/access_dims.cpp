#include "espalier/cost_model/access_dims.h"

#include "espalier/cost_model/streams.h"
#include "espalier/support/check.h"

namespace espalier {

Quantity AccessDims::step(StageId s, LoopId l, const Leaf& leaf) const {
  const Stage& st = stage(s);
  const Loop& lp = st.loops[static_cast<size_t>(l)];
  switch (lp.state) {
    case LoopState::Leaf: return leaf == Leaf{s, l} ? 1 : 0;
    case LoopState::Bound: return step(lp.bound_stage, lp.bound_loop, leaf);
    case LoopState::Absent: return 0;
    case LoopState::Split: {
      Quantity sum = 0, stride = 1;
      const Relation& r = st.relations[static_cast<size_t>(lp.relation)];
      for (size_t i = r.parts.size(); i-- > 0;) {
        sum += step(s, r.parts[i], leaf) * stride;
        stride *= shape(s).extent[static_cast<size_t>(r.parts[i])];
      }
      return sum;
    }
    case LoopState::Fused: {
      // Along the innermost axis until a row ends.
      const Relation& r = st.relations[static_cast<size_t>(lp.relation)];
      return r.parts.back() == l ? step(s, r.whole, leaf) : Quantity(0);
    }
  }
  ESP_UNREACHABLE();
}

void AccessDims::leaves(StageId s, LoopId l, std::vector<Leaf>& out) const {
  const Stage& st = stage(s);
  const Loop& lp = st.loops[static_cast<size_t>(l)];
  switch (lp.state) {
    case LoopState::Leaf: out.emplace_back(s, l); return;
    case LoopState::Bound: leaves(lp.bound_stage, lp.bound_loop, out); return;
    case LoopState::Absent: return;
    case LoopState::Split:
      for (LoopId part : st.relations[static_cast<size_t>(lp.relation)].parts) {
        leaves(s, part, out);
      }
      return;
    case LoopState::Fused:
      leaves(s, st.relations[static_cast<size_t>(lp.relation)].whole, out);
      return;
  }
}
void AccessDims::axis_leaves(StageId s, int a, std::vector<Leaf>& out) const {
  const Stage& st = stage(s);
  leaves(s, static_cast<LoopId>(a), out);
  if (!st.loops[static_cast<size_t>(a)].region) return;
  // The region's first element follows its readers.
  const StageId base = st.base_stage;
  if (stage(base).attach != AttachKind::At) return;
  for (StageId c = 0; c < state_.size(); ++c) {
    if (stage(c).attach == AttachKind::Inlined || c == s) continue;
    for (const StageRead& r : stage(c).reads) {
      if (r.source != base) continue;
      if (r.kind == StageRead::Kind::Loops) {
        axis_leaves(c, a, out);
      } else {
        index_leaves(c, r, a, out);
      }
    }
  }
}
void AccessDims::index_leaves(StageId s, const StageRead& r, int dim,
                              std::vector<Leaf>& out) const {
  const LinearIndex& index = r.linear[static_cast<size_t>(dim)];
  for (size_t a = 0; a < index.coef.size(); ++a) {
    if (index.coef[a] != 0) axis_leaves(s, static_cast<int>(a), out);
  }
}

void AccessDims::add_loop(StageId s, LoopId l, Dim& dim) const {
  dim.terms.emplace_back(l, 1);
  l < stage(s).spatial_axes ? axis_leaves(s, l, dim.leaves) : leaves(s, l, dim.leaves);
}
const Expr* AccessDims::written_index(StageId s, const StageRead& r, size_t d) const {
  if (r.path.size() != 1) return nullptr;
  const StageInfo& info = state_.dag().stage(stage(s).op);
  return &info.accesses[static_cast<size_t>(r.path[0])].indices[d];
}
std::vector<Axis> AccessDims::axes_of(StageId s) const {
  const StageInfo& info = state_.dag().stage(stage(s).op);
  std::vector<Axis> axes = info.axes;
  axes.insert(axes.end(), info.reduce_axes.begin(), info.reduce_axes.end());
  return axes;
}
IndexForm AccessDims::form_of(StageId s, const StageRead& r, size_t d) const {
  const Expr* index = written_index(s, r, d);
  return index == nullptr ? IndexForm{false, {}, {}} : index_form(*index, axes_of(s));
}

void AccessDims::add_index(StageId s, const StageRead& r, size_t d, Dim& dim) const {
  const LinearIndex& index = r.linear[d];
  const IndexForm form = index.affine ? IndexForm{} : form_of(s, r, d);
  dim.data = dim.data || !form.known;
  for (size_t a = 0; a < index.coef.size(); ++a) {
    const double step = index.affine ? static_cast<double>(index.coef[a])
                        : form.known ? form.step[a]
                                     : static_cast<double>(index.coef[a]);
    const LoopId axis = static_cast<LoopId>(a);
    if (step != 0) dim.terms.emplace_back(axis, step);
    if (!index.affine && form.known && form.period[a] != 0) {
      dim.periods.emplace_back(axis, form.period[a]);
    }
  }
  index_leaves(s, r, static_cast<int>(d), dim.leaves);
}

AccessDims::Dim AccessDims::dim_of(StageId s, const StageAccess& a, size_t d) const {
  Dim dim;
  const Stage& st = stage(s);
  if (a.read < 0) {
    add_loop(s, st.storage[d], dim);
    return dim;
  }
  const StageRead& r = st.reads[static_cast<size_t>(a.read)];
  const Stage& source = stage(r.source);
  if (!st.layout.empty()) {
    // A copy goes through its source along the dimensions that its layout names.
    for (size_t e = 0; e < st.layout.size(); ++e) {
      const LayoutEntry& entry = st.layout[e];
      if (entry.kind == LayoutEntry::Kind::Loop || static_cast<size_t>(entry.index) != d) {
        continue;
      }
      const bool outer = entry.kind == LayoutEntry::Kind::DimOuter;
      dim.terms.emplace_back(st.storage[e], outer ? shape(s).block[e] : Quantity(1));
      dim.leaves.emplace_back(s, st.storage[e]);
    }
    add_index(s, r, d, dim);
    return dim;
  }
  switch (r.kind) {
    case StageRead::Kind::Loops: add_loop(s, source.storage[d], dim); return dim;
    case StageRead::Kind::Element: add_index(s, r, d, dim); return dim;
    case StageRead::Kind::Packed: {
      const LayoutEntry& entry = source.layout[d];
      if (entry.kind == LayoutEntry::Kind::Loop) {
        dim.terms.emplace_back(entry.index, 1);
        leaves(s, entry.index, dim.leaves);
        return dim;
      }
      add_index(s, r, static_cast<size_t>(entry.index), dim);
      // Blocks follow each other far apart: one step stays in its block, mostly.
      if (entry.kind == LayoutEntry::Kind::DimOuter) dim.terms.clear();
      return dim;
    }
  }
  ESP_UNREACHABLE();
}

}  // namespace espalier
