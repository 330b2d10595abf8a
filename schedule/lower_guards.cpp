// Conditions under which the iterations of a stage happen: tails of splits, ends of regions and of
// what their readers need, the definition's own `where`.
#include <algorithm>

#include "espalier/ir/mutate.h"
#include "espalier/schedule/linear_condition.h"
#include "espalier/schedule/lower_context.h"

namespace espalier {

void LowerContext::add_guard(std::vector<Guard>& out, StageId s, Expr cond, const Guard& traits) {
  cond = simplify(cond, bounds_);
  if (is_const(cond, 1)) return;
  const BinaryNode* both = cond.as<BinaryNode>();
  if (both != nullptr && both->op == BinaryOp::And) {
    add_guard(out, s, both->a, traits);
    add_guard(out, s, both->b, traits);
    return;
  }
  Guard g = traits;
  const std::vector<LoopId>& order = stage(s).order;
  visit(cond, [&](const Expr& e) {
    if (e.kind() != ExprKind::Var) return true;
    auto it = loop_of_var_.find(e.get());
    if (it == loop_of_var_.end()) return true;
    const auto [owner, l] = it->second;
    // (reductions of other definitions around it decide nothing about its terms)
    const bool same = stage(owner).op == stage(s).op;
    if (same && stage(owner).loops[static_cast<size_t>(l)].reduce) g.reduce = true;
    if (owner != s) return true;
    auto at = std::find(order.begin(), order.end(), l);
    g.position = std::max(g.position, static_cast<int>(at - order.begin()));
    return true;
  });
  g.cond = std::move(cond);
  out.push_back(std::move(g));
}

bool LowerContext::has_absent_part(const Stage& st, LoopId l) const {
  const Loop& lp = st.loops[static_cast<size_t>(l)];
  if (lp.state == LoopState::Absent) return true;
  if (lp.state == LoopState::Leaf || lp.state == LoopState::Bound) return false;
  const Relation& rel = st.relations[static_cast<size_t>(lp.relation)];
  if (rel.is_fuse) return has_absent_part(st, rel.whole);
  return std::any_of(rel.parts.begin(), rel.parts.end(),
                     [&](LoopId part) { return has_absent_part(st, part); });
}

// The loop is one that indexes the stage's buffer, or was split or fused from such loops.
bool LowerContext::made_from_storage(const Stage& st, LoopId l) const {
  if (std::find(st.storage.begin(), st.storage.end(), l) != st.storage.end()) return true;
  const int16_t origin = st.loops[static_cast<size_t>(l)].origin;
  if (origin < 0) return false;
  const Relation& rel = st.relations[static_cast<size_t>(origin)];
  if (!rel.is_fuse) return made_from_storage(st, rel.whole);
  return std::any_of(rel.parts.begin(), rel.parts.end(),
                     [&](LoopId part) { return made_from_storage(st, part); });
}

namespace {

// Replacing `read` by 0 makes the term 0, whatever finite values the others have.
bool is_factor(const Expr& term, const Expr& read) {
  if (term.same_as(read) || equal(term, read)) return true;
  if (const CastNode* c = term.as<CastNode>()) return is_factor(c->value, read);
  const BinaryNode* b = term.as<BinaryNode>();
  return b != nullptr && b->op == BinaryOp::Mul && (is_factor(b->a, read) || is_factor(b->b, read));
}

}  // namespace

// The condition says that an index of some read stays inside its tensor, that read is served by a
// copy, and what the copy holds outside makes the term the identity: then the term may be there.
bool LowerContext::absent_in_copies(StageId s, const Expr& where) {
  const Stage& st = stage(s);
  const StageInfo& definition = info(s);
  const ReduceNode* reduce = definition.reduce();
  const std::optional<LinearCondition> wanted = as_linear_condition(where);
  if (!wanted) return false;
  for (const StageRead& r : st.reads) {
    if (r.kind != StageRead::Kind::Packed || r.path.size() != 1) continue;
    const Access& access = definition.accesses[static_cast<size_t>(r.path[0])];
    const Tensor& source = state_.dag().stage(access.producer).tensor;
    const Expr read = make_read(source, access.indices);
    const bool sum = reduce->combiner.kind == Combiner::Kind::Sum && is_factor(reduce->value, read);
    const bool extremum = (reduce->combiner.kind == Combiner::Kind::Max ||
                           reduce->combiner.kind == Combiner::Kind::Min) &&
                          equal(reduce->value, read);
    if (!sum && !extremum) continue;
    for (size_t d = 0; d < access.indices.size(); ++d) {
      const Expr& i = access.indices[d];
      for (const Expr& inside : {i >= make_index(0), i < make_index(source->shape[d])}) {
        const std::optional<LinearCondition> have = as_linear_condition(inside);
        if (have && have->offset == wanted->offset && have->terms.size() == wanted->terms.size() &&
            std::all_of(have->terms.begin(), have->terms.end(), [&](const auto& t) {
              return std::any_of(wanted->terms.begin(), wanted->terms.end(), [&](const auto& w) {
                return w.second == t.second && equal(w.first, t.first);
              });
            })) {
          // The copy must reach as far out as the term does.
          std::vector<int16_t> path;
          std::vector<Expr> indices;
          indices.reserve(access.indices.size());
          for (const Expr& index : access.indices) {
            indices.push_back(resolve(index, s, st.op, axis_exprs(s), path));
          }
          const Expr served = serve(s, r, indices);
          const LoadNode* load = served.as<LoadNode>();
          for (size_t e = 0; e < load->indices.size(); ++e) {
            const Interval range = bounds_.of(load->indices[e]);
            if (range.lo < 0 || range.hi >= load->buffer->shape[e]) return false;
          }
          return true;
        }
      }
    }
  }
  return false;
}

// All variables of `e` are loops of `s` or loops around it.
bool LowerContext::in_scope(const Expr& e, StageId s) const {
  bool ok = true;
  visit(e, [&](const Expr& x) {
    auto it = loop_of_var_.find(x.get());
    if (it == loop_of_var_.end()) return true;
    const auto [owner, l] = it->second;
    StageId at = s;
    LoopId limit = kNoLoop;  // of the stage `at`: everything, further out: down to the attach loop
    bool found = false;
    while (at >= 0 && !found) {
      if (at == owner) {
        for (LoopId own : stage(at).order) {
          if (own == l) found = true;
          if (found || own == limit) break;
        }
        break;
      }
      if (stage(at).attach == AttachKind::Root) break;
      limit = stage(at).attach_loop;
      at = stage(at).attach_stage;
    }
    if (!found) ok = false;
    return true;
  });
  return ok;
}

// Reduction loops left outside an accumulator are loops of the stage that waits for it. They may
// overshoot, or run once for the identity of an empty reduction: the terms are left out here.
void LowerContext::add_outer_term_guards(std::vector<Guard>& out, StageId s) {
  Guard traits;
  traits.reduce = true;
  StageId waiting = -1;
  for (const Loop& lp : stage(s).loops) {
    if (lp.state != LoopState::Bound || !lp.reduce) continue;
    waiting = lp.bound_stage;
    if (lp.extent == 0) add_guard(out, s, make_bool(false), traits);
  }
  if (waiting < 0) return;
  const Stage& outer = stage(waiting);
  for (size_t l = 0; l < outer.loops.size(); ++l) {
    const Loop& lp = outer.loops[l];
    if (lp.state != LoopState::Split || !lp.reduce ||
        has_absent_part(outer, static_cast<LoopId>(l))) {
      continue;
    }
    const Relation& rel = outer.relations[static_cast<size_t>(lp.relation)];
    int64_t covered = 1;
    for (LoopId part : rel.parts) covered *= outer.loops[static_cast<size_t>(part)].extent;
    if (covered > lp.extent) {
      add_guard(out, s, loop_expr(waiting, static_cast<LoopId>(l)) < make_index(lp.extent), traits);
    }
  }
}

std::vector<Guard> LowerContext::guards(StageId s) {
  const Stage& st = stage(s);
  const StageInfo& definition = info(s);
  std::vector<Guard> out;
  // Splits that overshoot.
  for (size_t l = 0; l < st.loops.size(); ++l) {
    const Loop& lp = st.loops[l];
    if (lp.state != LoopState::Split) continue;
    if (has_absent_part(st, static_cast<LoopId>(l))) continue;
    const Relation& rel = st.relations[static_cast<size_t>(lp.relation)];
    int64_t covered = 1;
    // An empty reduction outside an accumulator runs once, for the identity.
    for (LoopId part : rel.parts) {
      covered *= std::max<int64_t>(1, st.loops[static_cast<size_t>(part)].extent);
    }
    if (covered <= lp.extent) continue;
    Guard traits;
    traits.reduce = lp.reduce;
    traits.storage = made_from_storage(st, static_cast<LoopId>(l));
    add_guard(out, s, loop_expr(s, static_cast<LoopId>(l)) < make_index(lp.extent), traits);
  }
  if (st.role == StageRole::Accumulate) add_outer_term_guards(out, s);
  const bool copy = !st.layout.empty();
  for (int a = 0; a < st.spatial_axes + st.reduce_axes; ++a) {
    const bool spatial = a < st.spatial_axes;
    const int64_t extent =
        spatial ? definition.axes[static_cast<size_t>(a)].extent
                : definition.reduce_axes[static_cast<size_t>(a - st.spatial_axes)].extent;
    const Loop& lp = st.loops[static_cast<size_t>(a)];
    if (copy || (!lp.region && lp.extent == extent)) continue;
    if (!spatial && (st.role == StageRole::WriteBack || st.role == StageRole::Final)) continue;
    const Expr value = to_expr(coordinates_.axis_value(s, a));
    Guard traits;
    traits.pad = spatial && !lp.region &&
                 (st.role == StageRole::Accumulate ||
                  st.storage_extent[static_cast<size_t>(a)] >= lp.extent);
    traits.reduce = !spatial;
    if (lp.region) add_guard(out, s, value >= make_index(0), traits);
    add_guard(out, s, value < make_index(extent), traits);
    if (!lp.region) continue;
    for (const Expr& c : within_sources(st.base_stage, a, value)) add_guard(out, s, c, traits);
  }
  const ReduceNode* reduce = definition.reduce();
  if (reduce != nullptr && reduce->where.get() != nullptr && !copy &&
      st.role != StageRole::WriteBack && st.role != StageRole::Final) {
    std::vector<int16_t> path;
    Guard traits;
    traits.reduce =
        true;  // an absent term leaves its element with fewer terms, not without a value
    for (const Expr& absent : conjuncts(reduce->where)) {
      if (absent_in_copies(s, absent)) continue;
      add_guard(out, s, resolve(absent, s, st.op, axis_exprs(s), path), traits);
    }
  }
  std::erase_if(out, [&](const Guard& g) {
    // Terms are left out by the accumulator, not by the stage that waits for it.
    if (st.role == StageRole::WriteBack) return g.reduce;
    return copy && !in_scope(g.cond, s);
  });
  return out;
}

}  // namespace espalier
