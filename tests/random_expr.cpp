#include "random_expr.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace espalier {
namespace {

Expr number(const Expr& like, double v) { return make_number(like.type(), v); }

Operand unary_float(Rng& rng, const Operand& e, bool exact) {
  const Expr& x = e.expr;
  switch (rng.below(exact ? 6 : 14)) {
    case 0: return {-x, e.magnitude};
    case 1: return {abs(x), e.magnitude};
    case 2: return {max(x, number(x, 0)), e.magnitude};
    case 3: return {x + number(x, 1), e.magnitude + 1};
    case 4: return {floor(x), e.magnitude + 1};
    case 5: return {round(x), e.magnitude + 1};
    case 6: return {exp(min(x, number(x, 3))), 21};
    case 7: return {log(abs(x) + number(x, 0.5)), 8 + e.magnitude};
    case 8: return {tanh(x), 1};
    case 9: return {erf(x), 1};
    case 10: return {sigmoid(x), 1};
    case 11: return {rsqrt(abs(x) + number(x, 0.5)), 2};
    case 12: return {sqrt(abs(x)), 1 + e.magnitude};
    default: return {rng.chance(0.5) ? sin(x) : cos(x), 1};
  }
}

Operand binary_float(Rng& rng, DType t, Operand a, Operand b, bool exact) {
  const double limit = limit_of(t, exact);
  if (a.magnitude + b.magnitude > limit) a = clamp(a, 3), b = clamp(b, 3);
  const double sum = a.magnitude + b.magnitude;
  const Expr &x = a.expr, &y = b.expr;
  switch (rng.below(exact ? 6 : 8)) {
    case 0: return {x + y, sum};
    case 1: return {x - y, sum};
    case 2: return {max(x, y), std::max(a.magnitude, b.magnitude)};
    case 3: return {min(x, y), std::max(a.magnitude, b.magnitude)};
    case 4: return {select(x > y, x - y, y), sum};
    case 5: {
      const double product = a.magnitude * b.magnitude;
      if (product > limit) return {x - y, sum};
      return {x * y, product};
    }
    case 6: return {x / (abs(y) + number(y, 1)), a.magnitude};
    default:
      if (a.magnitude * a.magnitude > limit) return {y, b.magnitude};
      return {pow(abs(x) + number(x, 0.5), min(max(y, number(y, -2)), number(y, 2))),
              4 + a.magnitude * a.magnitude};
  }
}

Expr unary_int(Rng& rng, const Expr& x) {
  switch (rng.below(5)) {
    case 0: return -x;
    case 1: return abs(x);
    case 2: return make_unary(UnaryOp::Not, x);
    case 3: return max(x, number(x, 0));
    default: return x + number(x, static_cast<double>(rng.range(1, 100)));
  }
}

Expr binary_int(Rng& rng, const Expr& x, const Expr& y) {
  static constexpr std::array kOps = {
      BinaryOp::Add,      BinaryOp::Sub,      BinaryOp::Mul, BinaryOp::FloorDiv, BinaryOp::FloorMod,
      BinaryOp::TruncDiv, BinaryOp::TruncMod, BinaryOp::Min, BinaryOp::Max,      BinaryOp::And,
      BinaryOp::Or,       BinaryOp::Xor,      BinaryOp::Shl, BinaryOp::Shr};
  if (rng.chance(0.15)) return select(x < y, x, y - x);
  return make_binary(rng.pick(kOps), x, y);
}

Expr binary_bool(Rng& rng, const Expr& x, const Expr& y) {
  switch (rng.below(5)) {
    case 0: return x && y;
    case 1: return x || y;
    case 2: return make_binary(BinaryOp::Xor, x, y);
    case 3: return select(x, y, logical_not(y));
    default: return logical_not(x) || y;
  }
}

}  // namespace

double limit_of(DType t, bool exact) {
  switch (t) {
    case DType::F64: return std::ldexp(1.0, exact ? 50 : 500);
    case DType::F32: return std::ldexp(1.0, exact ? 22 : 60);
    case DType::F16: return std::ldexp(1.0, exact ? 9 : 14);
    case DType::BF16: return std::ldexp(1.0, exact ? 6 : 60);
    default: return HUGE_VAL;
  }
}

Operand clamp(const Operand& e, double bound) {
  if (e.magnitude <= bound) return e;
  return {min(max(e.expr, number(e.expr, -bound)), number(e.expr, bound)), bound};
}

Operand random_expr(Rng& rng, DType t, std::vector<Operand> operands, bool exact) {
  rng.shuffle(operands);
  Operand result = operands.front();
  if (operands.size() == 1 && rng.chance(0.5)) operands.push_back(operands.front());
  if (operands.size() == 1 || rng.chance(0.25)) {
    result = is_float(t)        ? unary_float(rng, result, exact)
             : t == DType::Bool ? Operand{logical_not(result.expr), 1}
                                : Operand{unary_int(rng, result.expr), 0};
  }
  for (size_t i = 1; i < operands.size(); ++i) {
    const Operand& next = operands[i];
    result = is_float(t)        ? binary_float(rng, t, result, next, exact)
             : t == DType::Bool ? Operand{binary_bool(rng, result.expr, next.expr), 1}
                                : Operand{binary_int(rng, result.expr, next.expr), 0};
  }
  return result;
}

}  // namespace espalier
