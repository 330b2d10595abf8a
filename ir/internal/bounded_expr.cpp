#include "espalier/ir/internal/bounded_expr.h"

#include <cmath>
#include <limits>
#include <unordered_map>

#include "espalier/ir/children.h"
#include "espalier/ir/scalar_ops.h"

namespace espalier {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
// Errors of math functions in unit roundoffs, with room to spare (see codegen/expand_math.h).
constexpr double kMathError = 6;
// exp and its kin give 0 where the result would be subnormal in f32.
constexpr double kFlushed = 0x1p-126;

bool is_wide(DType t) { return t == DType::F64; }

double math_rounding(DType t) {
  // Narrow types compute in f32 and round once more.
  const double own = rounding_of(t);
  return is_float(t) && bytes_of(t) < 4 ? own + kMathError * 0x1p-24 : kMathError * own;
}

Expr f64(double v) { return make_float(DType::F64, v); }
Bounded unknown(Expr value) { return {std::move(value), 0, 0, f64(kInf)}; }
Bounded exactly(Expr value) { return {std::move(value), 0, 0, {}}; }

// Nodes of an expression that may be named before it is computed once and read.
constexpr double kMostNodes = 1000;

// Nodes, those counted again that occur again.
double tree_size(const Expr& root) {
  std::unordered_map<const ExprNode*, double> known;
  const std::function<double(const Expr&)> size = [&](const Expr& e) {
    if (const auto it = known.find(e.get()); it != known.end()) return it->second;
    double sum = 1;
    for_each_child(*e, [&](const Expr& child) { sum += size(child); });
    known.emplace(e.get(), sum);
    return sum;
  };
  return size(root);
}

// A monotone step function: as far off as what lies on either side within the bound.
Bounded step(const Bounded& a, const std::function<Expr(const Expr&)>& f) {
  const Expr v = f(a.value);
  if (a.exact()) return exactly(v);
  const Expr b = a.total();
  const Expr at = widened(v), above = widened(f(a.value + b)), below = widened(f(a.value - b));
  return {v, 0, 0, max(above - at, at - below)};
}

}  // namespace

Bounded BoundedExprs::operator()(const Expr& e) {
  if (auto it = known_.find(e.get()); it != known_.end()) return it->second;
  Bounded b = translate(e);
  const bool is_long = b.absolute && tree_size(b.absolute) + tree_size(b.value) > kMostNodes &&
                       is_float(e.type().dtype);
  if (is_long && keep_ && reads_safely(e)) b = keep_(b);
  return known_.emplace(e.get(), std::move(b)).first->second;
}

// As an operand of what does not keep order. A value that may overflow is infinite in the
// computation but not here, and then nothing is known of what is made of it: inf - inf is NaN.
// (What keeps order, like min or tanh, gives the same of an infinity as of what rounds to one.)
Bounded BoundedExprs::operand(const Expr& e) {
  Bounded b = (*this)(e);
  const DType t = e.type().dtype;
  if (!is_float(t) || is_wide(t) || b.exact()) return b;
  const Expr size = b.magnitude();
  const Expr overflows = size < f64(kInf) && size + b.total() >= f64(overflow_threshold(t));
  b.absolute = plus(b.absolute, select(overflows, f64(kInf), f64(0)));
  return b;
}

Bounded BoundedExprs::translate(const Expr& e) {
  const DType t = e.type().dtype;
  switch (e.kind()) {
    case ExprKind::Const: return exactly(is_float(t) ? f64(e.as<ConstNode>()->f) : e);
    case ExprKind::Var: return exactly(e);
    case ExprKind::Cast: {
      return translate_cast(t, e.as<CastNode>()->value);
    }
    case ExprKind::Reinterpret: {
      const Expr& inner = e.as<ReinterpretNode>()->value;
      const Bounded a = (*this)(inner);
      const DType from = inner.type().dtype;
      const Expr bits = is_float(from) ? make_cast(from, a.value) : a.value;
      Expr value = make_reinterpret(t, bits);
      if (is_float(t)) value = make_cast(DType::F64, value);
      return a.exact() ? exactly(value) : unknown(value);
    }
    case ExprKind::Unary: {
      const auto* n = e.as<UnaryNode>();
      return translate_unary(n->op, t, n->a);
    }
    case ExprKind::Binary: {
      const auto* n = e.as<BinaryNode>();
      const DType operands = n->a.type().dtype;
      const bool keeps_order = n->op == BinaryOp::Min || n->op == BinaryOp::Max;
      return keeps_order ? translate_binary(n->op, operands, (*this)(n->a), (*this)(n->b))
                         : translate_binary(n->op, operands, operand(n->a), operand(n->b));
    }
    case ExprKind::Fma: {
      const auto* n = e.as<FmaNode>();
      const Bounded a = operand(n->a), b = operand(n->b), c = operand(n->c);
      const Bounded product = bounded_product(a, b, a.value * b.value, t);
      return bounded_sum(product, c, make_fma(a.value, b.value, c.value), t);
    }
    case ExprKind::Select: return translate_select(*e.as<SelectNode>());
    case ExprKind::Read: {
      const auto* n = e.as<ReadNode>();
      std::vector<Expr> indices;
      bool exact = true;
      for (const Expr& index : n->indices) {
        Bounded i = (*this)(index);
        exact = exact && i.exact();
        indices.push_back(std::move(i.value));
      }
      Bounded r = read_(*n, std::move(indices));
      return exact ? r : unknown(r.value);
    }
    case ExprKind::Reduce:
    case ExprKind::Load:
    case ExprKind::Ramp:
    case ExprKind::Broadcast:
    case ExprKind::LaneReduce: break;
  }
  ESP_UNREACHABLE("no such node inside a definition");
}

Bounded BoundedExprs::translate_cast(DType to, const Expr& inner) {
  const DType from = inner.type().dtype;
  // A type of a smaller range keeps what is infinite so.
  const bool keeps =
      is_float(from) && is_float(to) && overflow_threshold(to) <= overflow_threshold(from);
  const Bounded a = keeps ? (*this)(inner) : operand(inner);
  if (is_float(from) && is_float(to)) {
    const bool exact =
        rounding_of(to) <= rounding_of(from) && underflow_of(to) <= underflow_of(from);
    Bounded r = a;
    if (exact) return r;
    r.relative += rounding_of(to) * (1 + r.relative);
    r.floor = r.floor * growth_of(to) + underflow_of(to);
    r.absolute = times(growth_of(to), r.absolute);
    return r;
  }
  if (is_float(to)) {
    const bool exact =
        bits_of(from) - (is_signed_int(from) ? 1 : 0) <= -std::log2(unit_roundoff(to));
    return {make_cast(DType::F64, a.value), exact ? 0 : rounding_of(to), a.floor, a.absolute};
  }
  if (is_float(from)) {
    if (to == DType::Bool) return translate_binary(BinaryOp::Ne, from, a, exactly(f64(0)));
    return step(a, [to](const Expr& e) { return make_cast(to, e); });
  }
  return {make_cast(to, a.value), 0, a.floor, a.absolute};
}

Bounded BoundedExprs::translate_unary(UnaryOp op, DType t, const Expr& inner) {
  const bool breaks_order = op == UnaryOp::Sqrt || op == UnaryOp::Rsqrt || op == UnaryOp::Log ||
                            op == UnaryOp::Sin || op == UnaryOp::Cos;
  const Bounded a = breaks_order ? operand(inner) : (*this)(inner);
  switch (op) {
    case UnaryOp::Neg:
    case UnaryOp::Abs:
    case UnaryOp::Not: {
      Bounded r = a;
      r.value = make_unary(op, a.value);
      return r;
    }
    case UnaryOp::Floor:
    case UnaryOp::Ceil:
    case UnaryOp::Round: return step(a, [op](const Expr& e) { return make_unary(op, e); });
    case UnaryOp::Sqrt: {
      Bounded r;
      r.value = sqrt(a.value);
      r.relative = compound(rounding_of(t), a.relative / 2 * (1 + a.relative));
      if (const Expr d = a.without_relative()) {
        // sqrt(x + d) - sqrt(x) = d / (sqrt(x + d) + sqrt(x)). What cancelled may be negative.
        const Expr near = select(d > f64(0), d / max(r.value, sqrt(d)), f64(0));
        r.absolute = a.absolute ? select(a.value < d, f64(kInf), near) : near;
      }
      return r;
    }
    case UnaryOp::Exp:
    case UnaryOp::Log:
    case UnaryOp::Tanh:
    case UnaryOp::Erf:
    case UnaryOp::Sigmoid:
    case UnaryOp::Rsqrt:
    case UnaryOp::Sin:
    case UnaryOp::Cos: {
      Bounded r = translate_math(op, t, a);
      r.absolute = times(growth_of(t), r.absolute);
      return r;
    }
  }
  ESP_UNREACHABLE("unary op");
}

Bounded BoundedExprs::translate_math(UnaryOp op, DType t, const Bounded& a) {
  Bounded r;
  r.value = make_unary(op, a.value);
  r.relative = math_rounding(t);
  r.floor = underflow_of(t);
  const bool exact = a.exact();
  const Expr b = exact ? f64(0) : a.total();
  switch (op) {
    case UnaryOp::Exp: {
      r.floor += is_wide(t) ? 0x1p-1022 : kFlushed;
      // b + b^2 is at least exp(b) - 1 up to b = 1.79; beyond, the difference is exact enough.
      if (!exact) r.absolute = max(r.value * (b + b * b), exp(a.value + b) - r.value);
      return r;
    }
    case UnaryOp::Log:
      if (!exact) r.absolute = b / max(a.value - b, f64(0));
      return r;
    case UnaryOp::Tanh:
      if (!exact) r.absolute = b;
      return r;
    case UnaryOp::Erf:
      if (!exact) r.absolute = times(1.13, b);
      return r;
    case UnaryOp::Sigmoid:
      r.floor += is_wide(t) ? 0x1p-1022 : kFlushed;
      if (!exact) {
        const Expr near = max(r.value * (b + b * b), sigmoid(a.value + b) - r.value);
        r.absolute = min(times(0.25, b), near);
      }
      return r;
    case UnaryOp::Rsqrt:
      r.relative = compound(r.relative, a.relative);
      if (const Expr d = a.without_relative()) {
        r.absolute = r.value * d / max(a.value - b, f64(0));
      }
      return r;
    case UnaryOp::Sin:
    case UnaryOp::Cos: {
      if (is_wide(t)) r.floor += 0x1p-51;
      // Arguments beyond 2^49 give NaN.
      const Expr beyond = select(abs(a.value) < f64(0x1p48), f64(0), f64(kInf));
      r.absolute = exact ? beyond : b + beyond;
      return r;
    }
    default: ESP_UNREACHABLE("no math function");
  }
}

Bounded BoundedExprs::translate_binary(BinaryOp op, DType t, const Bounded& a, const Bounded& b) {
  const Expr value = make_binary(op, a.value, b.value);
  const bool exact = a.exact() && b.exact();
  if (exact && !is_float(t)) return exactly(value);
  switch (op) {
    case BinaryOp::Add:
    case BinaryOp::Sub: return bounded_sum(a, b, value, t);
    case BinaryOp::Mul: return bounded_product(a, b, value, t);
    case BinaryOp::Div: return bounded_quotient(a, b, value, t);
    case BinaryOp::Min:
    case BinaryOp::Max: return bounded_extremum(a, b, value);
    case BinaryOp::TruncMod:
      if (exact) return exactly(value);
      return unknown(value);
    case BinaryOp::Pow: {
      Bounded r;
      r.value = value;
      r.relative = math_rounding(t);
      r.floor = underflow_of(t) + (is_wide(t) ? 0x1p-1022 : kFlushed);
      const Expr logarithm = abs(log(abs(a.value)));
      if (is_wide(t)) {
        r.absolute = times(0x1p-56, abs(value) * abs(b.value) * logarithm);
      }
      if (!exact) {
        const Expr drift =
            abs(b.value) * a.total() / max(a.value - a.total(), f64(0)) + logarithm * b.total();
        const Expr change = max(drift + drift * drift, exp(drift) - 1.0);
        r.absolute = plus(r.absolute, abs(value) * change);
      }
      return r;
    }
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Gt:
    case BinaryOp::Ge:
    case BinaryOp::Eq:
    case BinaryOp::Ne: {
      if (exact) return exactly(value);
      const Expr distance = abs(widened(a.value) - widened(b.value));
      return {value, 0, 0, select(distance <= a.total() + b.total(), f64(1), f64(0))};
    }
    case BinaryOp::And:
    case BinaryOp::Or:
    case BinaryOp::Xor:
      // Of conditions: uncertain if either is.
      if (t == DType::Bool) return {value, 0, 0, max(a.total(), b.total())};
      return unknown(value);
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod:
    case BinaryOp::TruncDiv:
    case BinaryOp::Shl:
    case BinaryOp::Shr: return unknown(value);
  }
  ESP_UNREACHABLE("binary op");
}

bool BoundedExprs::reads_safely(const Expr& e) const {
  bool safe = true;
  if (const auto* read = e.as<ReadNode>()) safe = is_safe_(*read);
  for_each_child(*e, [&](const Expr& child) { safe = safe && reads_safely(child); });
  return safe;
}

Bounded BoundedExprs::translate_select(const SelectNode& e) {
  const Bounded c = (*this)(e.cond), a = (*this)(e.a), b = (*this)(e.b);
  Bounded r;
  r.value = make_select(c.value, a.value, b.value);
  if (c.exact() && a.exact() && b.exact()) return r;
  // Values of a side that is not taken must not be read outside of its select.
  if (!(a.exact() && b.exact())) r.absolute = make_select(c.value, a.total(), b.total());
  if (c.exact()) return r;
  Expr otherwise = f64(kInf);
  if (reads_safely(e.a) && reads_safely(e.b)) {
    otherwise = max(a.total(), b.total()) + abs(widened(a.value) - widened(b.value));
  }
  const Expr sure = r.absolute ? r.absolute : f64(0);
  r.absolute = make_select(c.total() > f64(0), otherwise, sure);
  return r;
}

}  // namespace espalier
