#include "espalier/codegen/predicate_loads.h"

#include "espalier/codegen/ranges.h"
#include "espalier/ir/mutate.h"

namespace espalier {
namespace {

Expr both(const Expr& a, const Expr& b) {
  if (!a) return b;
  if (!b) return a;
  return make_binary(BinaryOp::And, a, b);
}

class Predicator {
 public:
  Stmt run(const Stmt& s) {
    if (const auto* n = s.as<ForNode>()) {
      const Expr min = expr(n->min, {}), extent = expr(n->extent, {});
      bounds_.set(n->var, loop_range(min, extent, bounds_));
      Stmt body = run(n->body);
      bounds_.erase(n->var);
      if (min.same_as(n->min) && extent.same_as(n->extent) && body.same_as(n->body)) return s;
      return make_for(n->var, min, extent, n->for_kind, std::move(body), n->partition);
    }
    return map_children(
        s, [this](const Expr& e) { return e ? expr(e, {}) : e; },
        [this](const Stmt& inner) { return run(inner); });
  }

 private:
  // `cond`: when the value of `e` is wanted; empty: always.
  Expr expr(const Expr& e, const Expr& cond) {
    if (const auto* n = e.as<SelectNode>()) {
      const Expr c = expr(n->cond, cond);
      const Expr a = expr(n->a, both(cond, c));
      const Expr b = expr(n->b, both(cond, make_unary(UnaryOp::Not, c)));
      if (c.same_as(n->cond) && a.same_as(n->a) && b.same_as(n->b)) return e;
      return make_select(c, a, b);
    }
    const Expr mapped = map_children(e, [&](const Expr& part) { return expr(part, cond); });
    const auto* load = mapped.as<LoadNode>();
    if (load == nullptr || !cond || reads_are_harmless(*load, bounds_)) return mapped;
    const Expr predicate = both(load->predicate, cond);
    return load->flat ? make_flat_load(load->buffer, load->indices[0], predicate)
                      : make_load(load->buffer, load->indices, predicate);
  }

  Bounds bounds_;
};

}  // namespace

Stmt predicate_loads(const Stmt& s) { return Predicator().run(s); }

}  // namespace espalier
