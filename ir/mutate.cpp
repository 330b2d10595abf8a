#include "espalier/ir/mutate.h"

#include "espalier/ir/children.h"
#include "espalier/support/check.h"

namespace espalier {
namespace {

// The vector mapped by f, and whether any element became another node.
template <class T, class F>
std::pair<std::vector<T>, bool> map_all(const std::vector<T>& from, const F& f) {
  std::vector<T> to;
  to.reserve(from.size());
  bool changed = false;
  for (const T& e : from) {
    to.push_back(f(e));
    changed |= !to.back().same_as(e);
  }
  return {std::move(to), changed};
}

template <class T, class F>
T map_optional(const T& e, const F& f) {
  return e ? f(e) : T{};
}

}  // namespace

Expr map_children(const Expr& e, const std::function<Expr(const Expr&)>& f) {
  switch (e.kind()) {
    case ExprKind::Const:
    case ExprKind::Var: return e;
    case ExprKind::Cast: {
      const auto* n = e.as<CastNode>();
      Expr v = f(n->value);
      if (v.same_as(n->value)) return e;
      const Type t = n->type.with_lanes(v.type().lanes);
      return make_cast(t, std::move(v));
    }
    case ExprKind::Reinterpret: {
      const auto* n = e.as<ReinterpretNode>();
      Expr v = f(n->value);
      if (v.same_as(n->value)) return e;
      const Type t = n->type.with_lanes(v.type().lanes);
      return make_reinterpret(t, std::move(v));
    }
    case ExprKind::Unary: {
      const auto* n = e.as<UnaryNode>();
      Expr a = f(n->a);
      return a.same_as(n->a) ? e : make_unary(n->op, std::move(a));
    }
    case ExprKind::Binary: {
      const auto* n = e.as<BinaryNode>();
      Expr a = f(n->a), b = f(n->b);
      if (a.same_as(n->a) && b.same_as(n->b)) return e;
      return make_binary(n->op, std::move(a), std::move(b));
    }
    case ExprKind::Fma: {
      const auto* n = e.as<FmaNode>();
      Expr a = f(n->a), b = f(n->b), c = f(n->c);
      if (a.same_as(n->a) && b.same_as(n->b) && c.same_as(n->c)) return e;
      return make_fma(std::move(a), std::move(b), std::move(c));
    }
    case ExprKind::Select: {
      const auto* n = e.as<SelectNode>();
      Expr c = f(n->cond), a = f(n->a), b = f(n->b);
      if (c.same_as(n->cond) && a.same_as(n->a) && b.same_as(n->b)) return e;
      return make_select(std::move(c), std::move(a), std::move(b));
    }
    case ExprKind::Read: {
      const auto* n = e.as<ReadNode>();
      auto [indices, changed] = map_all(n->indices, f);
      return changed ? make_read(n->tensor, std::move(indices)) : e;
    }
    case ExprKind::Reduce: {
      const auto* n = e.as<ReduceNode>();
      Expr where = map_optional(n->where, f), value = f(n->value);
      if (value.same_as(n->value) && where.same_as(n->where)) return e;
      return make_reduce(n->combiner, std::move(value), n->axes, std::move(where));
    }
    case ExprKind::Load: {
      const auto* n = e.as<LoadNode>();
      auto [indices, changed] = map_all(n->indices, f);
      Expr predicate = map_optional(n->predicate, f);
      if (!changed && predicate.same_as(n->predicate)) return e;
      return n->flat ? make_flat_load(n->buffer, std::move(indices[0]), std::move(predicate))
                     : make_load(n->buffer, std::move(indices), std::move(predicate));
    }
    case ExprKind::Ramp: {
      const auto* n = e.as<RampNode>();
      Expr base = f(n->base);
      return base.same_as(n->base) ? e : make_ramp(std::move(base), n->stride, n->type.lanes);
    }
    case ExprKind::Broadcast: {
      const auto* n = e.as<BroadcastNode>();
      Expr v = f(n->value);
      return v.same_as(n->value) ? e : make_broadcast(std::move(v), n->type.lanes);
    }
    case ExprKind::LaneReduce: {
      const auto* n = e.as<LaneReduceNode>();
      Expr v = f(n->value);
      return v.same_as(n->value) ? e : make_lane_reduce(n->op, std::move(v));
    }
  }
  ESP_UNREACHABLE("expression kind");
}

Stmt map_children(const Stmt& s, const std::function<Expr(const Expr&)>& fe,
                  const std::function<Stmt(const Stmt&)>& fs) {
  switch (s.kind()) {
    case StmtKind::For: {
      const auto* n = s.as<ForNode>();
      Expr min = fe(n->min), extent = fe(n->extent);
      Stmt body = map_optional(n->body, fs);
      if (min.same_as(n->min) && extent.same_as(n->extent) && body.same_as(n->body)) return s;
      return make_for(n->var, std::move(min), std::move(extent), n->for_kind, std::move(body),
                      n->partition);
    }
    case StmtKind::Store: {
      const auto* n = s.as<StoreNode>();
      auto [indices, changed] = map_all(n->indices, fe);
      Expr value = fe(n->value), predicate = map_optional(n->predicate, fe);
      if (!changed && value.same_as(n->value) && predicate.same_as(n->predicate)) return s;
      return n->flat ? make_flat_store(n->buffer, std::move(indices[0]), std::move(value),
                                       std::move(predicate), n->non_temporal)
                     : make_store(n->buffer, std::move(indices), std::move(value),
                                  std::move(predicate), n->non_temporal);
    }
    case StmtKind::If: {
      const auto* n = s.as<IfNode>();
      Expr cond = fe(n->cond);
      Stmt a = map_optional(n->then_case, fs), b = map_optional(n->else_case, fs);
      if (cond.same_as(n->cond) && a.same_as(n->then_case) && b.same_as(n->else_case)) return s;
      return make_if(std::move(cond), std::move(a), std::move(b));
    }
    case StmtKind::Let: {
      const auto* n = s.as<LetNode>();
      Expr value = fe(n->value);
      Stmt body = map_optional(n->body, fs);
      if (value.same_as(n->value) && body.same_as(n->body)) return s;
      return make_let(n->var, std::move(value), std::move(body));
    }
    case StmtKind::Block: {
      auto [stmts, changed] = map_all(s.as<BlockNode>()->stmts, fs);
      return changed ? make_block(std::move(stmts)) : s;
    }
    case StmtKind::Allocate: {
      const auto* n = s.as<AllocateNode>();
      Stmt body = map_optional(n->body, fs);
      return body.same_as(n->body) ? s : make_allocate(n->buffer, std::move(body));
    }
    case StmtKind::Prefetch: {
      const auto* n = s.as<PrefetchNode>();
      auto [indices, changed] = map_all(n->indices, fe);
      if (!changed) return s;
      return make_prefetch(n->buffer, std::move(indices), n->for_write, n->locality, n->flat);
    }
  }
  ESP_UNREACHABLE("statement kind");
}

void visit(const Expr& e, const std::function<bool(const Expr&)>& f) {
  if (!f(e)) return;
  for_each_child(*e, [&](const Expr& c) { visit(c, f); });
}

void visit(const Stmt& s, const std::function<bool(const Stmt&)>& on_stmt,
           const std::function<bool(const Expr&)>& on_expr) {
  if (!on_stmt(s)) return;
  for_each_child(
      *s, [&](const Expr& e) { visit(e, on_expr); },
      [&](const Stmt& c) { visit(c, on_stmt, on_expr); });
}

namespace {

class Substitution {
 public:
  explicit Substitution(const VarMap& map) : map_(map) {}

  Expr operator()(const Expr& e) {
    if (e.kind() == ExprKind::Var) {
      const auto it = map_.find(e.get());
      return it == map_.end() ? e : it->second;
    }
    if (e.kind() == ExprKind::Const) return e;
    // A node with several holders may be met again; a tree that shares much is then still cheap.
    const bool shared = !e->unique();
    if (shared) {
      const auto it = done_.find(e.get());
      if (it != done_.end()) return it->second;
    }
    Expr result = map_children(e, [this](const Expr& c) { return (*this)(c); });
    if (shared) done_.emplace(e.get(), result);
    return result;
  }

  Stmt operator()(const Stmt& s) {
    return map_children(
        s, [this](const Expr& e) { return (*this)(e); },
        [this](const Stmt& c) { return (*this)(c); });
  }

 private:
  const VarMap& map_;
  VarMap done_;
};

bool uses(const ExprNode& e, const ExprNode* v) {
  if (&e == v) return true;
  bool found = false;
  for_each_child(e, [&](const Expr& c) { found = found || uses(*c, v); });
  return found;
}

bool uses(const StmtNode& s, const ExprNode* v) {
  bool found = false;
  for_each_child(
      s, [&](const Expr& e) { found = found || uses(*e, v); },
      [&](const Stmt& c) { found = found || uses(*c, v); });
  return found;
}

}  // namespace

Expr substitute(const Expr& e, const VarMap& map) { return Substitution(map)(e); }
Stmt substitute(const Stmt& s, const VarMap& map) { return Substitution(map)(s); }
bool uses_var(const Expr& e, const Var& v) { return uses(*e, v.get()); }
bool uses_var(const Stmt& s, const Var& v) { return uses(*s, v.get()); }

}  // namespace espalier
