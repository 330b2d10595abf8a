#include "espalier/ir/internal/context.h"

#include <algorithm>

#include "espalier/ir/tensor.h"
#include "espalier/support/hash.h"

namespace espalier {

Context::Mark Context::mark() const {
  return {ranges_.size(), replacements_.size(), facts_.size(), conditions_.size(), epoch_};
}

void Context::restore(const Mark& m) {
  ranges_.erase(ranges_.begin() + static_cast<ptrdiff_t>(m.ranges), ranges_.end());
  replacements_.erase(replacements_.begin() + static_cast<ptrdiff_t>(m.replacements),
                      replacements_.end());
  facts_.erase(facts_.begin() + static_cast<ptrdiff_t>(m.facts), facts_.end());
  conditions_.erase(conditions_.begin() + static_cast<ptrdiff_t>(m.conditions), conditions_.end());
  epoch_ = m.epoch;
}

namespace {

template <class T>
std::vector<T> take_from(std::vector<T>& v, size_t begin) {
  const auto first = v.begin() + static_cast<ptrdiff_t>(begin);
  std::vector<T> taken(std::make_move_iterator(first), std::make_move_iterator(v.end()));
  v.erase(first, v.end());
  return taken;
}

template <class T>
void give_back(std::vector<T>& v, std::vector<T>& taken) {
  v.insert(v.end(), std::make_move_iterator(taken.begin()), std::make_move_iterator(taken.end()));
}

}  // namespace

Context::Suspended Context::suspend(const Mark& m) {
  Suspended s{take_from(ranges_, m.ranges), take_from(facts_, m.facts),
              take_from(conditions_, m.conditions), epoch_};
  epoch_ = m.epoch;
  return s;
}

void Context::resume(Suspended s) {
  give_back(ranges_, s.ranges);
  give_back(facts_, s.facts);
  give_back(conditions_, s.conditions);
  epoch_ = s.epoch;
}

void Context::set_range(const ExprNode* var, Interval range) {
  ranges_.emplace_back(var, range);
  epoch_ = ++last_epoch_;
}

void Context::replace(const ExprNode* var, Expr by) {
  replacements_.emplace_back(var, std::move(by));
  epoch_ = ++last_epoch_;
}

const Expr* Context::replacement(const ExprNode* var) const {
  for (size_t i = replacements_.size(); i-- > 0;) {
    if (replacements_[i].first == var) return &replacements_[i].second;
  }
  return nullptr;
}

Interval Context::of_var(const Expr& e) const {
  for (size_t i = ranges_.size(); i-- > 0;) {
    if (ranges_[i].first == e.get()) return ranges_[i].second;
  }
  const Interval* r = base_.find(e.get());
  return r != nullptr ? *r : type_range(e.type().dtype);
}

Interval Context::of(const Expr& e) {
  const DType t = e.type().dtype;
  if (is_float(t)) return {};
  if (e.kind() == ExprKind::Var) return of_var(e);
  // A tree that shares much could have exponentially many paths; its depths matter little.
  constexpr int kDeepest = 12;
  if (depth_ >= kDeepest) return type_range(t);
  ++depth_;
  const Interval r = of_node(e);
  --depth_;
  return r;
}

Interval Context::of_node(const Expr& e) {
  const DType t = e.type().dtype;
  const auto as_form = [&] {
    Sum s(e.type());
    add_normal(s, e, 1, *this);
    return s.range();
  };
  switch (e.kind()) {
    case ExprKind::Const: return {e.as<ConstNode>()->i, e.as<ConstNode>()->i};
    case ExprKind::Cast: {
      const Expr& v = e.as<CastNode>()->value;
      return range_of_cast(v.type().dtype, t, of(v));
    }
    case ExprKind::Unary: return range_of_unary(e.as<UnaryNode>()->op, t, of(e.as<UnaryNode>()->a));
    case ExprKind::Binary: {
      const auto* n = e.as<BinaryNode>();
      if (n->op == BinaryOp::Add || n->op == BinaryOp::Sub) return as_form();
      if (n->op == BinaryOp::Mul && is_const_int(n->b)) return as_form();
      const DType operands = n->a.type().dtype;
      if (is_float(operands)) return type_range(t);
      return range_of_binary(n->op, operands, of(n->a), of(n->b));
    }
    case ExprKind::Select: return hull(of(e.as<SelectNode>()->a), of(e.as<SelectNode>()->b));
    case ExprKind::Read: {
      const auto* n = e.as<ReadNode>();
      if (n->tensor && n->tensor->value_range) {
        return {n->tensor->value_range->first, n->tensor->value_range->second - 1};
      }
      return type_range(t);
    }
    case ExprKind::Ramp: return as_form();
    case ExprKind::Broadcast: return of(e.as<BroadcastNode>()->value);
    case ExprKind::LaneReduce: {
      const auto* n = e.as<LaneReduceNode>();
      const bool one_of_them =
          n->op == BinaryOp::Min || n->op == BinaryOp::Max ||
          ((n->op == BinaryOp::And || n->op == BinaryOp::Or) && t == DType::Bool);
      if (one_of_them) return of(n->value);
      return type_range(t);
    }
    case ExprKind::Var:
    case ExprKind::Reinterpret:
    case ExprKind::Fma:
    case ExprKind::Reduce:
    case ExprKind::Load: return type_range(t);
  }
  return type_range(t);
}

std::optional<Context::Normal> Context::normalize(const Sum& form) {
  const int64_t g = form.gcd();
  if (g == 0) return std::nullopt;
  const Term* lead = nullptr;  // a choice that does not depend on the order of the terms
  for (const Term& t : form.terms()) {
    if (!t.atom || t.coef == INT64_MIN) return std::nullopt;
    if (lead == nullptr || t.atom->hash < lead->atom->hash) lead = &t;
  }
  const int64_t factor = lead->coef < 0 ? -g : g;
  Normal n{form.part(factor, [](const Term&) { return true; }), factor, 0};
  for (const Term& t : n.terms.terms()) {
    n.hash += hash_combine(t.atom->hash, static_cast<uint64_t>(t.coef));
  }
  return n;
}

bool Context::same_terms(const Sum& a, const Sum& b) {
  if (a.type() != b.type() || a.terms().size() != b.terms().size()) return false;
  for (const Term& x : a.terms()) {
    const bool found = std::any_of(b.terms().begin(), b.terms().end(), [&](const Term& y) {
      return x.coef == y.coef && equal(x.atom, y.atom);
    });
    if (!found) return false;
  }
  return true;
}

namespace {

Wide intersect(Wide a, Wide b) { return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)}; }

}  // namespace

Wide Context::bounds(const Sum& form) const {
  Wide r = form.exact();
  if (facts_.empty()) return r;
  const std::optional<Normal> n = normalize(form);
  if (!n) return r;
  for (const Fact& f : facts_) {
    if (f.hash != n->hash || !same_terms(f.terms, n->terms)) continue;
    r = intersect(r, f.range * n->factor + Wide{form.constant(), form.constant()});
  }
  return r;
}

std::optional<bool> Context::known(const Expr& cond) const {
  for (size_t i = conditions_.size(); i-- > 0;) {
    if (equal(conditions_[i].first, cond)) return conditions_[i].second;
  }
  return std::nullopt;
}

void Context::assume(const Expr& cond, bool truth) {
  if (cond.kind() == ExprKind::Const) return;
  if (const auto* n = cond.as<UnaryNode>(); n != nullptr && n->op == UnaryOp::Not) {
    assume(n->a, !truth);
    return;
  }
  if (const auto* n = cond.as<BinaryNode>()) {
    const DType operands = n->a.type().dtype;
    if (operands == DType::Bool && n->op == (truth ? BinaryOp::And : BinaryOp::Or)) {
      assume(n->a, truth);
      assume(n->b, truth);
      return;
    }
    if (is_comparison(n->op) && is_int(operands)) assume_comparison(*n, truth);
  }
  conditions_.emplace_back(cond, truth);
  epoch_ = ++last_epoch_;
}

void Context::assume_comparison(const BinaryNode& n, bool truth) {
  using enum BinaryOp;
  Sum a(n.a.type()), b(n.a.type());
  add_normal(a, n.a, 1, *this);
  add_normal(b, n.b, 1, *this);
  Sum d(n.a.type().with_dtype(DType::I64));
  if (!a.exact_fits() || !b.exact_fits() || !d.add_exactly(a, 1) || !d.add_exactly(b, -1)) return;
  Wide r = bounds(d);
  const bool ordered = n.op == Lt || n.op == Le || n.op == Gt || n.op == Ge;
  if (ordered) {
    // Up (a > b, a >= b) or down, and whether they may be equal.
    const bool up = (n.op == Gt || n.op == Ge) == truth;
    const bool strict = (n.op == Lt || n.op == Gt) == truth;
    r = up ? intersect(r, {strict ? 1 : 0, r.hi}) : intersect(r, {r.lo, strict ? -1 : 0});
  } else if ((n.op == Eq) == truth) {
    r = intersect(r, {0, 0});
  } else if (r.lo == 0) {
    r.lo = 1;
  } else if (r.hi == 0) {
    r.hi = -1;
  } else {
    return;
  }
  assume_within(d, r);
}

void Context::assume_at_most(const Sum& form, Int128 limit) {
  const Wide r = bounds(form);
  if (limit < r.hi) assume_within(form, {r.lo, limit});
}

void Context::assume_within(const Sum& form, Wide range) {
  const std::optional<Normal> n = normalize(form);
  if (!n || !range.bounded() || range.lo > range.hi) return;  // contradictions prove nothing here
  const Int128 factor = n->factor < 0 ? -Int128{n->factor} : Int128{n->factor};
  Wide r = range + Wide{-Int128{form.constant()}, -Int128{form.constant()}};
  if (n->factor < 0) r = r * -1;
  r = {-floordiv(-r.lo, factor), floordiv(r.hi, factor)};
  if (r.lo > r.hi) return;
  const Wide all = n->terms.exact();
  for (const Term& t : n->terms.terms()) {
    if (t.atom.kind() != ExprKind::Var || t.coef == 0) continue;
    const Wide own = Wide::of(t.range) * t.coef;
    // coef * var lies within r minus what the other terms can be.
    const Wide rest{all.lo - own.lo, all.hi - own.hi};
    Wide v{r.lo - rest.hi, r.hi - rest.lo};
    if (t.coef < 0) v = v * -1;
    const Int128 c = t.coef < 0 ? -Int128{t.coef} : Int128{t.coef};
    v = intersect({-floordiv(-v.lo, c), floordiv(v.hi, c)}, Wide::of(t.range));
    if (v.lo > v.hi || (v.lo == t.range.lo && v.hi == t.range.hi)) continue;
    set_range(t.atom.get(), {static_cast<int64_t>(v.lo), static_cast<int64_t>(v.hi)});
  }
  facts_.push_back({n->terms, n->hash, r});
  epoch_ = ++last_epoch_;
}

}  // namespace espalier
