#include "espalier/cost_model/own_loops.h"

#include <algorithm>

#include "espalier/ir/mutate.h"

namespace espalier {
namespace {

bool attached_at(const State& state, StageId s, LoopId l) {
  for (StageId t = 0; t < state.size(); ++t) {
    const Stage& st = state.stage(t);
    const bool attached = st.attach == AttachKind::At || st.attach == AttachKind::After;
    if (attached && st.attach_stage == s && st.attach_loop == l) return true;
  }
  return false;
}

void split_condition(const Expr& e, std::vector<Expr>& parts) {
  const auto* both = e.as<BinaryNode>();
  if (both != nullptr && both->op == BinaryOp::And) {
    split_condition(both->a, parts);
    split_condition(both->b, parts);
  } else {
    parts.push_back(e);
  }
}

}  // namespace

std::vector<OwnLoop> own_loops(const State& state, const Shape& all, StageId s) {
  const Stage& stage = state.stage(s);
  const StageShape& shape = all[static_cast<size_t>(s)];
  std::vector<OwnLoop> loops(stage.order.size());
  Quantity found = 0;  // 1: the innermost serial loop lies further inside
  for (size_t i = loops.size(); i-- > 0;) {
    const size_t l = static_cast<size_t>(stage.order[i]);
    const Loop& loop = stage.loops[l];
    OwnLoop& own = loops[i];
    own.extent = max(1, shape.extent[l]);
    own.effective = shape.effective[l];
    own.units = shape.units[l];
    own.reduce = loop.reduce;
    own.vector = loop.vectorize;
    own.outside = found;
    if (loop.vectorize) {
      own.straight = 1;
      own.outside = 0;
      continue;
    }
    Quantity serial = (1 - shape.unrolled[l]) * if_le(own.extent, 1, 0, 1);
    if (attached_at(state, s, stage.order[i])) serial = 1;
    own.inner = serial * (1 - found);
    found = max(found, serial);
    own.straight = 1 - found;
  }
  return loops;
}

bool comes_from(const Stage& stage, LoopId l, LoopId axis) {
  if (l == axis) return true;
  const int16_t origin = stage.loops[static_cast<size_t>(l)].origin;
  if (origin < 0) return false;
  const Relation& r = stage.relations[static_cast<size_t>(origin)];
  if (!r.is_fuse) return comes_from(stage, r.whole, axis);
  return std::any_of(r.parts.begin(), r.parts.end(),
                     [&](LoopId part) { return comes_from(stage, part, axis); });
}

Quantity conditions_in_body(const State& state, const StageNest& nest,
                            const std::vector<OwnLoop>& loops) {
  const Stage& stage = state.stage(nest.stage);
  const StageInfo& info = state.dag().stage(stage.op);
  const ReduceNode* reduce = info.reduce();
  Quantity result = 1;
  if (reduce == nullptr || !reduce->where) return result;
  std::vector<Expr> parts;
  split_condition(reduce->where, parts);
  std::vector<bool> seen(loops.size(), false);
  for (const Expr& part : parts) {
    Quantity outer = 1;
    bool partitioned = false;
    for (size_t x = 0; x < info.axes.size(); ++x) {
      if (!uses_var(part, info.axes[x].var)) continue;
      for (size_t p = 0; p < nest.path.size(); ++p) {
        const Stage& of = state.stage(nest.path[p].stage);
        if (!comes_from(of, nest.path[p].loop, static_cast<LoopId>(x))) continue;
        partitioned = partitioned || of.loops[static_cast<size_t>(nest.path[p].loop)].partition;
        const Quantity& extent = nest.path[p].extent;
        outer *= p < nest.own_from ? extent : extent / loops[p - nest.own_from].in_body();
      }
    }
    if (partitioned) continue;
    for (size_t a = 0; a < info.reduce_axes.size(); ++a) {
      if (!uses_var(part, info.reduce_axes[a].var)) continue;
      const LoopId axis = static_cast<LoopId>(info.axes.size() + a);
      for (size_t i = 0; i < loops.size(); ++i) {
        if (seen[i] || !comes_from(stage, stage.order[i], axis)) continue;
        seen[i] = true;
        result *= if_le(outer, 1, 1, loops[i].in_body());
      }
    }
  }
  return result;
}
}  // namespace espalier
