#include "espalier/codegen/expand_math.h"

#include <unordered_map>

#include "espalier/codegen/any_part.h"
#include "espalier/codegen/math/builder.h"
#include "espalier/ir/mutate.h"
#include "espalier/support/check.h"

namespace espalier {
namespace {

bool is_math(UnaryOp op) {
  switch (op) {
    case UnaryOp::Neg:
    case UnaryOp::Not:
    case UnaryOp::Abs:
    case UnaryOp::Sqrt:
    case UnaryOp::Floor:
    case UnaryOp::Ceil:
    case UnaryOp::Round: return false;
    case UnaryOp::Exp:
    case UnaryOp::Log:
    case UnaryOp::Tanh:
    case UnaryOp::Erf:
    case UnaryOp::Sigmoid:
    case UnaryOp::Rsqrt:
    case UnaryOp::Sin:
    case UnaryOp::Cos: return true;
  }
  ESP_UNREACHABLE("unary op");
}

bool is_expanded(const Expr& e) {
  if (const auto* n = e.as<UnaryNode>()) return is_math(n->op);
  const auto* n = e.as<BinaryNode>();
  return n != nullptr && n->op == BinaryOp::Pow;
}

// Of the expressions of one statement.
class Expander {
 public:
  Expr run(const Expr& e) {
    if (e.kind() == ExprKind::Const || e.kind() == ExprKind::Var) return e;
    if (const auto it = done_.find(e); it != done_.end()) return it->second;
    Expr result = map_children(e, [this](const Expr& part) { return run(part); });
    if (const auto* n = result.as<UnaryNode>(); n != nullptr && is_math(n->op)) {
      result = expand(n->type, [&](math::Builder& b) { return unary(b, n->op, operand(b, n->a)); });
    } else if (const auto* p = result.as<BinaryNode>(); p != nullptr && p->op == BinaryOp::Pow) {
      result = expand(
          p->type, [&](math::Builder& b) { return power(b, operand(b, p->a), operand(b, p->b)); });
    }
    done_.emplace(e, result);
    return result;
  }

  Stmt wrap(Stmt s) const {
    for (auto b = bindings_.rbegin(); b != bindings_.rend(); ++b) {
      s = make_let(b->first, b->second, std::move(s));
    }
    return s;
  }

 private:
  template <class F>
  Expr expand(Type t, F f) {
    const Type compute =
        t.dtype == DType::F64 ? t : t.with_dtype(DType::F32);  // halves compute in f32
    math::Builder b(compute, &bindings_);
    return b.bind(make_cast(t, f(b)));
  }

  static Expr operand(math::Builder& b, const Expr& e) { return b.bind(make_cast(b.type(), e)); }

  static Expr unary(math::Builder& b, UnaryOp op, const Expr& x) {
    switch (op) {
      case UnaryOp::Exp: return math::exp(b, x);
      case UnaryOp::Log: return math::log(b, x);
      case UnaryOp::Tanh: return math::tanh(b, x);
      case UnaryOp::Erf: return math::erf(b, x);
      case UnaryOp::Sigmoid: return math::sigmoid(b, x);
      case UnaryOp::Rsqrt: return math::rsqrt(b, x);
      case UnaryOp::Sin: return math::sin(b, x);
      case UnaryOp::Cos: return math::cos(b, x);
      default: ESP_UNREACHABLE(name_of(op));
    }
  }

  static Expr power(math::Builder& b, const Expr& x, const Expr& y) {
    if (equal(y, b.number(1))) return x;
    if (equal(y, b.number(2))) return b.mul(x, x);
    return math::pow(b, x, y);
  }

  struct Hash {
    size_t operator()(const Expr& e) const { return static_cast<size_t>(e->hash); }
  };
  struct Equal {
    bool operator()(const Expr& a, const Expr& b) const { return equal(a, b); }
  };
  std::unordered_map<Expr, Expr, Hash, Equal> done_;
  std::vector<math::Binding> bindings_;
};

}  // namespace

Stmt expand_math(const Stmt& s) {
  Expander expander;
  const bool worth_it = any_direct_part(s, is_expanded);
  const Stmt mapped = map_children(
      s, [&](const Expr& e) { return worth_it ? expander.run(e) : e; },
      [](const Stmt& inner) { return expand_math(inner); });
  return expander.wrap(mapped);
}

}  // namespace espalier
