#include "espalier/schedule/linear_condition.h"

namespace espalier {
namespace {

void add_term(LinearCondition& sum, const Expr& atom, int64_t coef) {
  for (auto& [a, c] : sum.terms) {
    if (equal(a, atom)) {
      c += coef;
      return;
    }
  }
  sum.terms.emplace_back(atom, coef);
}

void accumulate(LinearCondition& sum, const Expr& e, int64_t factor) {
  int64_t value = 0;
  if (is_const_int(e, &value)) {
    sum.offset += factor * value;
    return;
  }
  if (const BinaryNode* b = e.as<BinaryNode>()) {
    if (b->op == BinaryOp::Add || b->op == BinaryOp::Sub) {
      accumulate(sum, b->a, factor);
      accumulate(sum, b->b, b->op == BinaryOp::Add ? factor : -factor);
      return;
    }
    if (b->op == BinaryOp::Mul && is_const_int(b->b, &value)) {
      accumulate(sum, b->a, factor * value);
      return;
    }
    if (b->op == BinaryOp::Mul && is_const_int(b->a, &value)) {
      accumulate(sum, b->b, factor * value);
      return;
    }
  }
  if (const UnaryNode* u = e.as<UnaryNode>(); u && u->op == UnaryOp::Neg) {
    accumulate(sum, u->a, -factor);
    return;
  }
  add_term(sum, e, factor);
}

}  // namespace

int64_t LinearCondition::coef_of(const Expr& var) const {
  for (const auto& [a, c] : terms) {
    if (a.same_as(var)) return c;
  }
  return 0;
}

Expr LinearCondition::rest(const Expr& var) const {
  Expr sum;
  for (const auto& [a, c] : terms) {
    if (c == 0 || (var.get() != nullptr && a.same_as(var))) continue;
    Expr term = c == 1 ? a : make_binary(BinaryOp::Mul, a, make_index(c));
    sum = sum ? make_binary(BinaryOp::Add, sum, term) : term;
  }
  if (!sum) return make_index(offset);
  return offset == 0 ? sum : make_binary(BinaryOp::Add, sum, make_index(offset));
}

std::optional<LinearCondition> as_linear_condition(const Expr& cond) {
  const BinaryNode* b = cond.as<BinaryNode>();
  if (b == nullptr || b->a.type() != kIndex) return std::nullopt;
  LinearCondition sum;
  switch (b->op) {
    case BinaryOp::Lt:
    case BinaryOp::Le:
      accumulate(sum, b->b, 1);
      accumulate(sum, b->a, -1);
      break;
    case BinaryOp::Gt:
    case BinaryOp::Ge:
      accumulate(sum, b->a, 1);
      accumulate(sum, b->b, -1);
      break;
    default: return std::nullopt;
  }
  if (b->op == BinaryOp::Lt || b->op == BinaryOp::Gt) sum.offset -= 1;
  std::erase_if(sum.terms, [](const auto& t) { return t.second == 0; });
  return sum;
}

std::vector<Expr> conjuncts(const Expr& cond) {
  std::vector<Expr> out;
  if (const BinaryNode* b = cond.as<BinaryNode>(); b && b->op == BinaryOp::And) {
    out = conjuncts(b->a);
    for (Expr& e : conjuncts(b->b)) out.push_back(std::move(e));
  } else {
    out.push_back(cond);
  }
  return out;
}

Expr conjunction(const std::vector<Expr>& conds) {
  Expr all;
  for (const Expr& c : conds) all = all ? make_binary(BinaryOp::And, all, c) : c;
  return all;
}

}  // namespace espalier
