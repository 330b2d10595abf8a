// Simplification of statements: expressions under the ranges of loops and the conditions around
// them, and the control flow that this decides.
#include <unordered_set>

#include "espalier/ir/children.h"
#include "espalier/ir/internal/simplifier.h"
#include "espalier/support/check.h"

namespace espalier {
namespace {

Expr narrowed(const Expr& e) {
  const auto* n = e.as<BroadcastNode>();
  return n != nullptr ? n->value : e;
}

class StmtSimplifier {
 public:
  explicit StmtSimplifier(const Bounds& base)
      : simplifier_(base), context_(simplifier_.context()) {}

  // Empty if nothing is left to do.
  Stmt operator()(const Stmt& s) {
    if (!s) return {};
    switch (s.kind()) {
      case StmtKind::For: return loop(s);
      case StmtKind::Store: return store(s);
      case StmtKind::If: return branch(s);
      case StmtKind::Let: return let(s);
      case StmtKind::Block: return block(s);
      case StmtKind::Allocate: {
        const auto* n = s.as<AllocateNode>();
        Stmt body = (*this)(n->body);
        if (!body) return {};
        return body.same_as(n->body) ? s : make_allocate(n->buffer, std::move(body));
      }
      case StmtKind::Prefetch: {
        const auto* n = s.as<PrefetchNode>();
        bool changed = false;
        std::vector<Expr> indices = simplified(n->indices, changed);
        if (!changed) return s;
        return make_prefetch(n->buffer, std::move(indices), n->for_write, n->locality, n->flat);
      }
    }
    ESP_UNREACHABLE("statement kind");
  }

  bool saw_let() const { return saw_let_; }

 private:
  std::vector<Expr> simplified(const std::vector<Expr>& from, bool& changed) {
    std::vector<Expr> to;
    to.reserve(from.size());
    for (const Expr& e : from) {
      to.push_back(narrowed(simplifier_(e)));
      changed |= !to.back().same_as(e);
    }
    return to;
  }

  Stmt loop(const Stmt& s) {
    const auto* n = s.as<ForNode>();
    Expr min = simplifier_(n->min), extent = simplifier_(n->extent);
    const Interval first = context_.of(min), count = context_.of(extent);
    if (count.hi <= 0) return {};
    const Context::Mark mark = context_.mark();
    if (count.is_point() && count.lo == 1) {
      context_.replace(n->var.get(), std::move(min));
      Stmt body = (*this)(n->body);
      context_.restore(mark);
      return body;
    }
    const Int128 last = Int128{first.hi} + count.hi - 1;
    if (last <= INT64_MAX) {  // else the variable might wrap
      context_.set_range(n->var.get(), {first.lo, static_cast<int64_t>(last)});
      if (!first.is_point()) {
        Sum below(kIndex);  // min - var <= 0
        add_normal(below, min, 1, context_);
        below.add(Term{n->var, -1, context_.of(n->var)});
        if (below.exact_fits()) context_.assume_at_most(below, 0);
      }
      if (!first.is_point() || !count.is_point()) assume_end(n->var, min, extent);
    }
    Stmt body = (*this)(n->body);
    context_.restore(mark);
    if (!body) return {};
    if (min.same_as(n->min) && extent.same_as(n->extent) && body.same_as(n->body)) return s;
    return make_for(n->var, std::move(min), std::move(extent), n->for_kind, std::move(body),
                    n->partition);
  }

  // var < min + extent; of an extent that is the less of two, for each.
  void assume_end(const Var& var, const Expr& min, const Expr& extent) {
    if (const auto* n = extent.as<BinaryNode>(); n != nullptr && n->op == BinaryOp::Min) {
      assume_end(var, min, n->a);
      assume_end(var, min, n->b);
      return;
    }
    Sum start(kIndex), count(kIndex);
    add_normal(start, min, 1, context_);
    add_normal(count, extent, 1, context_);
    if (!start.exact_fits() || !count.exact_fits()) return;
    Sum past(kIndex);
    past.add(Term{var, 1, context_.of(var)});
    if (!past.add_exactly(start, -1) || !past.add_exactly(count, -1)) return;
    context_.assume_at_most(past, -1);
  }

  Stmt store(const Stmt& s) {
    const auto* n = s.as<StoreNode>();
    Expr predicate;
    if (n->predicate) {
      predicate = narrowed(simplifier_(n->predicate));
      if (is_const(predicate, 0)) return {};
      if (is_const(predicate, 1)) predicate = {};
    }
    bool changed = !predicate.same_as(n->predicate);
    // A store of equal lanes to one element would lose its lanes with its last index vector.
    std::vector<Expr> indices;
    indices.reserve(n->indices.size());
    for (const Expr& e : n->indices) indices.push_back(narrowed(simplifier_(e)));
    const int lanes = n->value.type().lanes;
    if (lanes > 1 && lanes_of(indices) == 1) indices[0] = make_broadcast(indices[0], lanes);
    for (size_t i = 0; i < indices.size(); ++i) {
      if (equal(indices[i], n->indices[i])) indices[i] = n->indices[i];
      changed |= !indices[i].same_as(n->indices[i]);
    }
    Expr value = simplifier_(n->value);
    if (!changed && value.same_as(n->value)) return s;
    return n->flat ? make_flat_store(n->buffer, std::move(indices[0]), std::move(value),
                                     std::move(predicate), n->non_temporal)
                   : make_store(n->buffer, std::move(indices), std::move(value),
                                std::move(predicate), n->non_temporal);
  }

  Stmt branch(const Stmt& s) {
    const auto* n = s.as<IfNode>();
    Expr cond = simplifier_(n->cond);
    int64_t truth;
    if (is_const_int(cond, &truth)) return (*this)(truth != 0 ? n->then_case : n->else_case);
    // What memory holds may change within a branch.
    const bool lasts = !reads_memory(cond);
    const auto side = [&](const Stmt& c, bool when) {
      const Context::Mark mark = context_.mark();
      if (lasts) context_.assume(cond, when);
      Stmt r = (*this)(c);
      context_.restore(mark);
      return r;
    };
    Stmt then_case = side(n->then_case, true), else_case = side(n->else_case, false);
    if (!then_case && !else_case) return {};
    if (!then_case) {
      return make_if(simplifier_(make_unary(UnaryOp::Not, cond)), std::move(else_case));
    }
    const bool same =
        cond.same_as(n->cond) && then_case.same_as(n->then_case) && else_case.same_as(n->else_case);
    return same ? s : make_if(std::move(cond), std::move(then_case), std::move(else_case));
  }

  Stmt let(const Stmt& s) {
    const auto* n = s.as<LetNode>();
    Expr value = simplifier_(n->value);
    const Context::Mark mark = context_.mark();
    const bool trivial = value.kind() == ExprKind::Const || value.kind() == ExprKind::Var;
    if (trivial) {
      context_.replace(n->var.get(), value);
    } else if (!is_float(value.type().dtype)) {
      context_.set_range(n->var.get(), context_.of(value));
    }
    Stmt body = (*this)(n->body);
    context_.restore(mark);
    if (!body || trivial) return body;
    saw_let_ = true;
    if (value.same_as(n->value) && body.same_as(n->body)) return s;
    return make_let(n->var, std::move(value), std::move(body));
  }

  Stmt block(const Stmt& s) {
    const auto* n = s.as<BlockNode>();
    std::vector<Stmt> kept;
    kept.reserve(n->stmts.size());
    bool changed = false;
    for (const Stmt& c : n->stmts) {
      Stmt r = (*this)(c);
      changed |= !r.same_as(c);
      if (r) kept.push_back(std::move(r));
    }
    if (!changed && !kept.empty()) return s;
    return kept.empty() ? Stmt() : make_block(std::move(kept));
  }

  Simplifier simplifier_;
  Context& context_;
  bool saw_let_ = false;
};

// Drops lets whose variable nobody uses, inner ones first, since they may be all that uses others.
class DeadLets {
 public:
  Stmt drop(const Stmt& s) {
    switch (s.kind()) {
      case StmtKind::Let: {
        const auto* n = s.as<LetNode>();
        Stmt body = drop(n->body);
        if (!used_.contains(n->var.get())) return body;
        mark(n->value);
        return body.same_as(n->body) ? s : make_let(n->var, n->value, std::move(body));
      }
      case StmtKind::For: {
        const auto* n = s.as<ForNode>();
        mark(n->min);
        mark(n->extent);
        Stmt body = drop(n->body);
        if (body.same_as(n->body)) return s;
        return make_for(n->var, n->min, n->extent, n->for_kind, std::move(body), n->partition);
      }
      case StmtKind::If: {
        const auto* n = s.as<IfNode>();
        mark(n->cond);
        Stmt a = n->then_case ? drop(n->then_case) : Stmt();
        Stmt b = n->else_case ? drop(n->else_case) : Stmt();
        if (a.same_as(n->then_case) && b.same_as(n->else_case)) return s;
        return make_if(n->cond, std::move(a), std::move(b));
      }
      case StmtKind::Block: {
        std::vector<Stmt> stmts;
        bool changed = false;
        for (const Stmt& c : s.as<BlockNode>()->stmts) {
          stmts.push_back(drop(c));
          changed |= !stmts.back().same_as(c);
        }
        return changed ? make_block(std::move(stmts)) : s;
      }
      case StmtKind::Allocate: {
        const auto* n = s.as<AllocateNode>();
        Stmt body = drop(n->body);
        return body.same_as(n->body) ? s : make_allocate(n->buffer, std::move(body));
      }
      case StmtKind::Store:
      case StmtKind::Prefetch:
        for_each_child(*s, [&](const Expr& e) { mark(e); }, [](const Stmt&) {});
        return s;
    }
    ESP_UNREACHABLE("statement kind");
  }

 private:
  void mark(const Expr& e) {
    if (e.kind() == ExprKind::Var) {
      used_.insert(e.get());
    } else if (e->unique() || seen_.insert(e.get()).second) {
      for_each_child(*e, [&](const Expr& c) { mark(c); });
    }
  }

  std::unordered_set<const ExprNode*> used_;  // variables
  std::unordered_set<const ExprNode*> seen_;  // nodes with several holders
};

}  // namespace

Stmt simplify(const Stmt& s, const Bounds& bounds) {
  StmtSimplifier simplifier(bounds);
  Stmt result = simplifier(s);
  // An empty program is an empty block, the one that was there if it was one.
  if (!result)
    return s && s.as<BlockNode>() && s.as<BlockNode>()->stmts.empty() ? s : make_block({});
  return simplifier.saw_let() ? DeadLets().drop(result) : result;
}

}  // namespace espalier
