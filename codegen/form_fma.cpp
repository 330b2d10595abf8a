#include "espalier/codegen/form_fma.h"

#include <unordered_map>

#include "espalier/codegen/any_part.h"
#include "espalier/ir/mutate.h"

namespace espalier {
namespace {

bool is_float_sum(const Expr& e) {
  const auto* n = e.as<BinaryNode>();
  return n != nullptr && (n->op == BinaryOp::Add || n->op == BinaryOp::Sub) &&
         is_float(n->type.dtype);
}

// Rewrites the expressions of one statement. A node that occurs in several places is counted and
// rewritten once.
class Fuser {
 public:
  void count(const Expr& e) {
    if (!e || is_leaf(e) || ++uses_[e.get()] > 1) return;
    for_each_child(*e, [this](const Expr& part) { count(part); });
  }

  Expr run(const Expr& e) {
    if (!e || is_leaf(e)) return e;
    if (const auto it = done_.find(e.get()); it != done_.end()) return it->second;
    Expr result = fuse(e);
    if (!result) result = map_children(e, [this](const Expr& part) { return run(part); });
    done_.emplace(e.get(), result);
    return result;
  }

 private:
  // Offsets are integers; what they are made of stays as it is. A predicate may repeat the
  // condition of a Select, and both must round alike.
  static bool is_leaf(const Expr& e) {
    if (const auto* load = e.as<LoadNode>()) return !load->predicate;
    return e.kind() == ExprKind::Const || e.kind() == ExprKind::Var;
  }

  struct Product {
    Expr a, b;
  };
  // e as a*b, where nothing else needs the product. A negated product has its sign moved into `a`.
  bool product(const Expr& e, Product* p) const {
    if (is_leaf(e) || uses_.at(e.get()) > 1) return false;
    if (const auto* neg = e.as<UnaryNode>(); neg != nullptr && neg->op == UnaryOp::Neg) {
      if (!product(neg->a, p)) return false;
      p->a = make_unary(UnaryOp::Neg, p->a);
      return true;
    }
    const auto* n = e.as<BinaryNode>();
    if (n == nullptr || n->op != BinaryOp::Mul) return false;
    *p = {n->a, n->b};
    return true;
  }

  Expr fuse(const Expr& e) {
    if (!is_float_sum(e)) return {};
    const auto* n = e.as<BinaryNode>();
    const bool subtract = n->op == BinaryOp::Sub;
    Product p;
    if (product(n->b, &p)) {
      const Expr a = subtract ? negated(run_parts(p.a)) : run_parts(p.a);
      return make_fma(a, run_parts(p.b), run(n->a));
    }
    if (product(n->a, &p)) {
      const Expr c = run(n->b);
      return make_fma(run_parts(p.a), run_parts(p.b), subtract ? negated(c) : c);
    }
    return {};
  }

  static Expr negated(const Expr& e) {
    const auto* n = e.as<UnaryNode>();
    return n != nullptr && n->op == UnaryOp::Neg ? n->a : make_unary(UnaryOp::Neg, e);
  }

  // A factor; perhaps one that product() made by negating, whose operand was counted.
  Expr run_parts(const Expr& e) {
    if (is_leaf(e) || uses_.contains(e.get())) return run(e);
    return map_children(e, [this](const Expr& part) { return run_parts(part); });
  }

  std::unordered_map<const ExprNode*, int> uses_;
  std::unordered_map<const ExprNode*, Expr> done_;
};

}  // namespace

Stmt form_fma(const Stmt& s) {
  const auto inside = [](const Stmt& inner) { return form_fma(inner); };
  if (!any_direct_part(s, is_float_sum)) {
    return map_children(s, [](const Expr& e) { return e; }, inside);
  }
  Fuser fuser;
  for_each_child(*s, [&](const Expr& e) { fuser.count(e); }, [](const Stmt&) {});
  return map_children(s, [&](const Expr& e) { return fuser.run(e); }, inside);
}

}  // namespace espalier
