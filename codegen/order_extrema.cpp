#include "espalier/codegen/order_extrema.h"

#include "espalier/codegen/any_part.h"
#include "espalier/ir/mutate.h"

namespace espalier {
namespace {

// A constant other than NaN, in all lanes.
bool is_number(const Expr& e) {
  const auto* broadcast = e.as<BroadcastNode>();
  const auto* c = broadcast != nullptr ? broadcast->value.as<ConstNode>() : e.as<ConstNode>();
  return c != nullptr && is_float(c->type.dtype) && c->f == c->f;
}

bool is_extremum(const Expr& e) {
  const auto* n = e.as<BinaryNode>();
  return n != nullptr && (n->op == BinaryOp::Min || n->op == BinaryOp::Max);
}

class Orderer {
 public:
  Expr run(const Expr& e) {
    if (const auto it = done_.find(e.get()); it != done_.end()) return it->second;
    Expr result = map_children(e, [this](const Expr& part) { return run(part); });
    if (is_extremum(result)) {
      const auto* n = result.as<BinaryNode>();
      if (is_number(n->b) && !is_number(n->a)) result = make_binary(n->op, n->b, n->a);
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
  const bool worth_it = any_direct_part(s, is_extremum);
  return map_children(
      s, [&](const Expr& e) { return worth_it ? orderer.run(e) : e; },
      [](const Stmt& inner) { return order_extrema(inner); });
}

}  // namespace espalier
