#include "espalier/codegen/unroll.h"

#include "espalier/codegen/ranges.h"
#include "espalier/ir/mutate.h"

namespace espalier {
namespace {

class Unroller {
 public:
  Stmt run(const Stmt& s) {
    switch (s.kind()) {
      case StmtKind::For: return run_for(s);
      case StmtKind::If: return run_if(s);
      case StmtKind::Block: {
        // Rebuilt by hand: copies of unrolled bodies join the block.
        std::vector<Stmt> parts;
        bool changed = false;
        for (const Stmt& part : s.as<BlockNode>()->stmts) {
          parts.push_back(run(part));
          changed |= !parts.back().same_as(part);
        }
        return changed ? make_block(std::move(parts)) : s;
      }
      default:
        return map_children(
            s, [this](const Expr& e) { return expr(e); },
            [this](const Stmt& inner) { return run(inner); });
    }
  }

 private:
  Expr expr(const Expr& e) {
    return values_.empty() || !e ? e : simplify(substitute(e, values_), bounds_);
  }

  Stmt run_for(const Stmt& s) {
    const auto* n = s.as<ForNode>();
    const Expr min = expr(n->min), extent = expr(n->extent);
    int64_t count;
    if (n->for_kind == ForKind::Unrolled && is_const_int(extent, &count)) {
      std::vector<Stmt> copies;
      for (int64_t i = 0; i < count; ++i) {
        values_[n->var.get()] = simplify(min + Expr(i), bounds_);
        copies.push_back(run(n->body));
      }
      values_.erase(n->var.get());
      return make_block(std::move(copies));
    }
    bounds_.set(n->var, loop_range(min, extent, bounds_));
    Stmt body = run(n->body);
    bounds_.erase(n->var);
    const ForKind kind = n->for_kind == ForKind::Unrolled ? ForKind::Serial : n->for_kind;
    if (min.same_as(n->min) && extent.same_as(n->extent) && body.same_as(n->body) &&
        kind == n->for_kind) {
      return s;
    }
    return make_for(n->var, min, extent, kind, std::move(body), n->partition);
  }

  Stmt run_if(const Stmt& s) {
    const auto* n = s.as<IfNode>();
    const Expr cond = expr(n->cond);
    int64_t known;
    if (is_const_int(cond, &known)) {
      if (known != 0) return run(n->then_case);
      return n->else_case ? run(n->else_case) : make_block({});
    }
    Stmt then_case = run(n->then_case);
    Stmt else_case = n->else_case ? run(n->else_case) : Stmt{};
    if (cond.same_as(n->cond) && then_case.same_as(n->then_case) &&
        else_case.same_as(n->else_case)) {
      return s;
    }
    return make_if(cond, std::move(then_case), std::move(else_case));
  }

  VarMap values_;
  Bounds bounds_;
};

}  // namespace

Stmt unroll(const Stmt& s) { return Unroller().run(s); }

}  // namespace espalier
