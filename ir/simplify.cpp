#include "espalier/ir/simplify.h"

#include "espalier/ir/internal/simplifier.h"

namespace espalier {

Interval Bounds::of(const Expr& e) const { return Simplifier(*this).visit_root(e).range; }

Expr simplify(const Expr& e, const Bounds& bounds) { return Simplifier(bounds)(e); }

bool prove(const Expr& cond, const Bounds& bounds) { return is_const(simplify(cond, bounds), 1); }

namespace {

// Adds factor * e; false if e is no sum of variables.
bool add_affine(Sum& sum, const Expr& e, int64_t factor, Context& context) {
  switch (e.kind()) {
    case ExprKind::Const: sum.add_constant(wrapping_mul(factor, e.as<ConstNode>()->i)); return true;
    case ExprKind::Var: sum.add(Term{e, factor, context.of(e)}); return true;
    case ExprKind::Unary: {
      const auto* n = e.as<UnaryNode>();
      return n->op == UnaryOp::Neg && add_affine(sum, n->a, wrapping_mul(factor, -1), context);
    }
    case ExprKind::Binary: {
      const auto* n = e.as<BinaryNode>();
      int64_t c;
      switch (n->op) {
        case BinaryOp::Add:
        case BinaryOp::Sub:
          return add_affine(sum, n->a, factor, context) &&
                 add_affine(sum, n->b, n->op == BinaryOp::Add ? factor : wrapping_mul(factor, -1),
                            context);
        case BinaryOp::Mul:
          if (is_const_int(n->b, &c))
            return add_affine(sum, n->a, wrapping_mul(factor, c), context);
          return is_const_int(n->a, &c) && add_affine(sum, n->b, wrapping_mul(factor, c), context);
        default: return false;
      }
    }
    default: return false;
  }
}

}  // namespace

std::optional<AffineForm> as_affine(const Expr& e, const Bounds& bounds) {
  if (e.type() != kIndex) return std::nullopt;
  Context context(bounds);
  Sum sum(kIndex);
  if (!add_affine(sum, e, 1, context) || !sum.exact_fits()) return std::nullopt;
  AffineForm form;
  for (const Term& t : sum.terms()) {
    form.terms.emplace_back(static_cast<const Var&>(t.atom), t.coef);
  }
  form.offset = sum.constant();
  return form;
}

}  // namespace espalier
