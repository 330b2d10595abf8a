#include "espalier/codegen/order_extrema.h"

#include "espalier/ir/mutate.h"

namespace espalier {
namespace {

// A constant other than NaN, in all lanes.
bool is_number(const Expr& e) {
  const auto* broadcast = e.as<BroadcastNode>();
  const auto* c = broadcast != nullptr ? broadcast->value.as<ConstNode>() : e.as<ConstNode>();
  return c != nullptr && is_float(c->type.dtype) && c->f == c->f;
}

class Orderer {
 public:
  Expr run(const Expr& e) {
    if (const auto it = done_.find(e.get()); it != done_.end()) return it->second;
    Expr result = map_children(e, [this](const Expr& part) { return run(part); });
    const auto* n = result.as<BinaryNode>();
    if (n != nullptr && (n->op == BinaryOp::Min || n->op == BinaryOp::Max) && is_number(n->b) &&
        !is_number(n->a)) {
      result = make_binary(n->op, n->b, n->a);
    }
    done_.emplace(e.get(), result);
    return result;
  }

 private:
  VarMap done_;  // of one statement
};

}  // namespace

Stmt order_extrema(const Stmt& s) {
  Orderer orderer;
  return map_children(
      s, [&](const Expr& e) { return orderer.run(e); },
      [](const Stmt& inner) { return order_extrema(inner); });
}

}  // namespace espalier
