#include "espalier/schedule/lower_context.h"

#include <algorithm>

#include "espalier/ir/mutate.h"
#include "espalier/support/check.h"

namespace espalier {

LowerContext::LowerContext(const State& state) : state_(state), coordinates_(state) {}

Var LowerContext::loop_var(StageId s, LoopId l) {
  auto it = vars_.find({s, l});
  if (it != vars_.end()) return it->second;
  Var v(state_.loop_name(s, l));
  vars_.emplace(std::make_pair(s, l), v);
  loop_of_var_[v.get()] = {s, l};
  bounds_.set(v, {0, std::max<int64_t>(0, stage(s).loops[static_cast<size_t>(l)].extent - 1)});
  return v;
}

Expr LowerContext::to_expr(const Linear& v) {
  Expr result;
  for (const LinearTerm& t : v.terms) {
    Expr atom;
    if (Coordinates::is_leaf(t.atom)) {
      atom = loop_var(Coordinates::atom_stage(t.atom), Coordinates::atom_loop(t.atom));
    } else {
      const Coordinates::Quotient q = coordinates_.quotient(t.atom);
      atom = make_binary(q.modulo ? BinaryOp::FloorMod : BinaryOp::FloorDiv, to_expr(q.value),
                         make_index(q.divisor));
    }
    if (t.coef != 1) atom = make_binary(BinaryOp::Mul, atom, make_index(t.coef));
    result = result ? make_binary(BinaryOp::Add, result, atom) : atom;
  }
  if (!result) return make_index(v.offset);
  return v.offset == 0 ? result : make_binary(BinaryOp::Add, result, make_index(v.offset));
}

Expr LowerContext::subtract(Expr index, const Linear& base) {
  if (base.is_constant() && base.offset == 0) return index;
  return simplify(make_binary(BinaryOp::Sub, std::move(index), to_expr(base)), bounds_);
}

Buffer LowerContext::buffer(StageId s) {
  const Stage& st = stage(s);
  if (st.shares >= 0) return buffer(st.shares);
  auto it = buffers_.find(s);
  if (it != buffers_.end()) return it->second;
  DType dtype = info(s).tensor->dtype;
  if (!st.layout.empty()) {
    dtype = state_.dag().stage(st.reads[0].producer).tensor->dtype;
  }
  const bool whole =
      !st.partial && (st.role == StageRole::Compute || st.role == StageRole::WriteBack ||
                      st.role == StageRole::Final);
  BufferScope scope = BufferScope::Workspace;
  int64_t elements = 1;
  for (int64_t e : st.storage_extent) elements *= std::max<int64_t>(1, e);
  if (st.role == StageRole::Input || st.role == StageRole::Pack || (whole && info(s).is_output)) {
    scope = BufferScope::Param;
  } else if (st.registers) {
    scope = BufferScope::Register;
  } else if (elements * bytes_of(dtype) <= 4096 && !st.stored_at_root) {
    scope = BufferScope::Stack;
  }
  Buffer b = make_buffer(state_.stage_name(s), dtype, st.storage_extent, scope);
  // Small scratch is laid out for the lanes that fill it, whatever the order of the axes.
  const bool small = scope == BufferScope::Register || scope == BufferScope::Stack;
  if (small && st.layout.empty()) b = with_innermost(b, lane_dimension(s));
  buffers_.emplace(s, b);
  return b;
}

int LowerContext::lane_dimension(StageId s) {
  const Stage& st = stage(s);
  for (LoopId l : st.order) {
    if (!st.loops[static_cast<size_t>(l)].vectorize) continue;
    const LinearTerm lane{Coordinates::leaf_atom(s, l), 1};
    for (size_t e = st.storage.size(); e-- > 0;) {
      const std::vector<LinearTerm> terms = coordinates_.loop_value(s, st.storage[e]).terms;
      if (std::find(terms.begin(), terms.end(), lane) != terms.end()) return static_cast<int>(e);
    }
  }
  return static_cast<int>(st.storage.size()) - 1;
}

bool LowerContext::is_copy(const Buffer& b) const {
  return std::any_of(buffers_.begin(), buffers_.end(), [&](const auto& known) {
    return known.second.get() == b.get() && !stage(known.first).layout.empty();
  });
}

std::vector<Expr> LowerContext::write_index(StageId s) {
  const Stage& st = stage(s);
  std::vector<Expr> index;
  for (LoopId l : st.storage) {
    Linear value = coordinates_.loop_value(s, l);
    const Loop& lp = st.loops[static_cast<size_t>(l)];
    if (lp.region && st.base_stage == s && l < st.spatial_axes) {
      value.add(coordinates_.region_base(s, l));
      value.add(coordinates_.storage_base(s, l), -1);
    }
    index.push_back(to_expr(value));
  }
  return index;
}

Expr LowerContext::read_loops(StageId s, const StageRead& r) {
  const Stage& source = stage(r.source);
  std::vector<Expr> index;
  for (LoopId l : source.storage) {
    const Loop& lp = source.loops[static_cast<size_t>(l)];
    if (lp.region && source.base_stage == r.source && l < source.spatial_axes) {
      Linear value = coordinates_.axis_value(s, l);
      value.add(coordinates_.storage_base(r.source, l), -1);
      index.push_back(to_expr(value));
    } else if (source.partial && l < source.spatial_axes) {
      index.push_back(to_expr(coordinates_.axis_value(s, l)));
    } else {
      index.push_back(loop_expr(s, l));
    }
  }
  return make_load(buffer(r.source), std::move(index));
}

std::vector<Expr> LowerContext::axis_exprs(StageId s) {
  std::vector<Expr> axes;
  const Stage& st = stage(s);
  for (int a = 0; a < st.spatial_axes + st.reduce_axes; ++a) {
    axes.push_back(to_expr(coordinates_.axis_value(s, a)));
  }
  return axes;
}

Expr LowerContext::serve(StageId s, const StageRead& r, const std::vector<Expr>& indices) {
  const Stage& source = stage(r.source);
  switch (r.kind) {
    case StageRead::Kind::Loops: return read_loops(s, r);
    case StageRead::Kind::Element: {
      std::vector<Expr> index;
      for (size_t d = 0; d < indices.size(); ++d) {
        const bool region = source.loops[d].region && !source.stored_at_root;
        Expr i = simplify(indices[d], bounds_);
        index.push_back(
            region ? subtract(i, coordinates_.storage_base(r.source, static_cast<int>(d))) : i);
      }
      return make_load(buffer(r.source), std::move(index));
    }
    case StageRead::Kind::Packed: {
      std::vector<Expr> index;
      for (const LayoutEntry& entry : source.layout) {
        if (entry.kind == LayoutEntry::Kind::Loop) {
          index.push_back(loop_expr(s, entry.index));
          continue;
        }
        Expr i = subtract(indices[static_cast<size_t>(entry.index)],
                          coordinates_.packed_base(r.source, s, r, entry.index));
        if (entry.kind == LayoutEntry::Kind::DimOuter)
          i = floordiv(i, make_index(entry.block.value));
        if (entry.kind == LayoutEntry::Kind::DimInner)
          i = floormod(i, make_index(entry.block.value));
        index.push_back(simplify(i, bounds_));
      }
      return make_load(buffer(r.source), std::move(index));
    }
  }
  ESP_UNREACHABLE();
}

// Rewrites a definition's expression: axes become `axes`, reads become loads from whatever serves
// them; a read of an inlined producer is replaced by that producer's definition.
Expr LowerContext::resolve(const Expr& e, StageId s, int op, const std::vector<Expr>& axes,
                           std::vector<int16_t>& path) {
  const StageInfo& definition = state_.dag().stage(op);
  if (e.kind() == ExprKind::Var) {
    for (size_t a = 0; a < definition.axes.size(); ++a) {
      if (e.same_as(definition.axes[a].var)) return axes[a];
    }
    for (size_t a = 0; a < definition.reduce_axes.size(); ++a) {
      if (e.same_as(definition.reduce_axes[a].var)) return axes[definition.axes.size() + a];
    }
    return e;
  }
  if (const ReadNode* read = e.as<ReadNode>()) {
    size_t number = 0;
    for (; number < definition.accesses.size(); ++number) {
      const Access& access = definition.accesses[number];
      if (state_.dag().stage(access.producer).tensor.get() != read->tensor.get()) continue;
      if (std::equal(access.indices.begin(), access.indices.end(), read->indices.begin(),
                     read->indices.end(),
                     [](const Expr& a, const Expr& b) { return equal(a, b); })) {
        break;
      }
    }
    ESP_CHECK(number < definition.accesses.size(), "a read that the DAG does not list");
    std::vector<Expr> indices;
    for (const Expr& i : read->indices) indices.push_back(resolve(i, s, op, axes, path));
    path.push_back(static_cast<int16_t>(number));
    Expr result;
    for (const StageRead& r : stage(s).reads) {
      if (r.path == path && r.source >= 0) {
        result = serve(s, r, indices);
        break;
      }
    }
    if (!result) {
      const int producer = definition.accesses[number].producer;
      ESP_CHECK(stage(static_cast<StageId>(producer)).attach == AttachKind::Inlined,
                "a read that nothing serves");
      result = resolve(state_.dag().stage(producer).tensor->body, s, producer, indices, path);
    }
    path.pop_back();
    return result;
  }
  return map_children(e, [&](const Expr& child) { return resolve(child, s, op, axes, path); });
}

Expr LowerContext::body_value(StageId s) {
  const StageInfo& definition = info(s);
  const ReduceNode* reduce = definition.reduce();
  std::vector<int16_t> path;
  return resolve(reduce ? reduce->value : definition.tensor->body, s, stage(s).op, axis_exprs(s),
                 path);
}

Expr LowerContext::copied_value(StageId s) {
  const Stage& st = stage(s);
  const StageRead& r = st.reads[0];
  std::vector<Expr> indices;
  for (size_t d = 0; d < r.linear.size(); ++d) {
    std::optional<Linear> index = coordinates_.read_index(s, r, static_cast<int>(d));
    ESP_CHECK(index.has_value(), "a copy through an index that data decide");
    indices.push_back(to_expr(*index));
  }
  return serve(s, r, indices);
}

Expr LowerContext::copy_condition(StageId s) {
  const Stage& st = stage(s);
  const StageRead& r = st.reads[0];
  Expr cond;
  auto also = [&](Expr c) {
    c = simplify(c, bounds_);
    if (is_const(c, 1)) return;
    cond = cond ? make_binary(BinaryOp::And, cond, c) : c;
  };
  for (const Guard& g : guards(s)) {
    if (!g.storage) also(g.cond);
  }
  for (size_t d = 0; d < r.linear.size(); ++d) {
    const Expr index = to_expr(*coordinates_.read_index(s, r, static_cast<int>(d)));
    also(index >= make_index(0));
    also(index < make_index(state_.dag().stage(r.producer).tensor->shape[d]));
    const Stage& source = stage(r.source);
    if (r.kind != StageRead::Kind::Element || source.attach != AttachKind::At) continue;
    for (const Expr& c : within_sources(source.base_stage, static_cast<int>(d), index)) also(c);
  }
  // Blocks are rounded up; what lies beyond the region they hold may not have been computed.
  for (size_t e = 0; e < st.layout.size(); ++e) {
    const LayoutEntry& outer = st.layout[e];
    if (outer.kind != LayoutEntry::Kind::DimOuter) continue;
    for (size_t i = 0; i < st.layout.size(); ++i) {
      if (st.layout[i].kind != LayoutEntry::Kind::DimInner || st.layout[i].index != outer.index) {
        continue;
      }
      Linear at = coordinates_.loop_value(s, st.storage[i]);
      at.add(coordinates_.loop_value(s, st.storage[e]), outer.block.value);
      also(to_expr(at) < make_index(st.copy_width[static_cast<size_t>(outer.index)]));
    }
  }
  // A source that was computed for a region has no more than that.
  const Expr value = copied_value(s);
  if (const LoadNode* load = value.as<LoadNode>()) {
    for (size_t d = 0; d < load->indices.size(); ++d) {
      also(load->indices[d] >= make_index(0));
      also(load->indices[d] < make_index(load->buffer->shape[d]));
    }
  }
  return cond;
}

Expr LowerContext::copy_fill(StageId s) {
  const Type type = buffer(s)->dtype;
  for (StageId reader = 0; reader < state_.size(); ++reader) {
    for (const StageRead& r : stage(reader).reads) {
      if (r.source != s) continue;
      const ReduceNode* reduce = info(reader).reduce();
      if (reduce != nullptr && (reduce->combiner.kind == Combiner::Kind::Max ||
                                reduce->combiner.kind == Combiner::Kind::Min)) {
        return reduce->combiner.identity(type);
      }
    }
  }
  return make_number(type, 0);
}

}  // namespace espalier
