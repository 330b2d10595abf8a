#include "espalier/ir/internal/interval.h"

#include <algorithm>
#include <bit>

#include "espalier/support/check.h"

namespace espalier {
namespace {

constexpr Interval kBit{0, 1};
Interval bit(bool v) { return {v, v}; }

Int128 limit(Int128 v) { return std::clamp(v, -Wide::kUnbounded, Wide::kUnbounded); }

// Whether intervals of the type hold the numbers themselves.
bool are_numbers(DType t, Interval a, Interval b) {
  return t != DType::U64 || (a.lo >= 0 && b.lo >= 0);
}

Wide corners(Interval a, Interval b, Int128 (*f)(Int128, Int128)) {
  const Int128 v[] = {f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)};
  return {*std::min_element(v, v + 4), *std::max_element(v, v + 4)};
}

Int128 magnitude(Interval r) { return std::max(-Int128{r.lo}, Int128{r.hi}); }

Interval divide(DType t, Interval a, Interval b, bool floor) {
  if (b.lo >= 0) {
    if (b.hi == 0) return {0, 0};
    const Interval divisor{std::max<int64_t>(b.lo, 1), b.hi};
    const auto f = floor ? +[](Int128 x, Int128 y) { return floordiv(x, y); }
                         : +[](Int128 x, Int128 y) { return x / y; };
    Wide r = corners(a, divisor, f);
    if (b.lo == 0) r = {std::min<Int128>(r.lo, 0), std::max<Int128>(r.hi, 0)};
    return clamp_to(r, t);
  }
  // Of either sign: never beyond the dividend's magnitude.
  const Int128 m = magnitude(a);
  return clamp_to({-m, m}, t);
}

Interval modulo_floor(DType t, Interval a, Interval b) {
  if (b.is_point() && b.lo > 0) {
    const Int128 period = floordiv(a.lo, b.lo);
    if (floordiv(a.hi, b.lo) == period) {
      return clamp_to(Wide::of(a) + Wide{-period * b.lo, -period * b.lo}, t);
    }
    return {0, b.lo - 1};
  }
  Interval r{b.lo < 0 ? b.lo + 1 : 0, b.hi > 0 ? b.hi - 1 : 0};
  if (a.lo >= 0 && b.lo >= 0) r.hi = std::min(r.hi, a.hi);
  return r;
}

Interval modulo_trunc(DType t, Interval a, Interval b) {
  const Int128 m = std::max<Int128>(std::max(-Int128{b.lo}, Int128{b.hi}) - 1, 0);
  return clamp_to({a.lo < 0 ? std::max<Int128>(-m, a.lo) : Int128{0},
                   a.hi > 0 ? std::min<Int128>(m, a.hi) : Int128{0}},
                  t);
}

Interval bitwise(BinaryOp op, DType t, Interval a, Interval b) {
  if (t == DType::Bool) {
    if (op == BinaryOp::And) return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    if (op == BinaryOp::Or) return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    return a.is_point() && b.is_point() ? bit(a.lo != b.lo) : kBit;
  }
  if (op == BinaryOp::And && (a.lo >= 0 || b.lo >= 0)) {
    return {0, a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : std::min(a.hi, b.hi)};
  }
  if (a.lo < 0 || b.lo < 0) return type_range(t);
  const uint64_t most = static_cast<uint64_t>(std::max(a.hi, b.hi));
  return {0, static_cast<int64_t>(std::bit_ceil(most + 1) - 1)};
}

Interval shift_left(DType t, Interval a, Interval b) {
  if (!b.is_point()) return type_range(t);
  if (b.lo < 0 || b.lo >= bits_of(t)) return {0, 0};
  return clamp_to(Wide::of(a) * (Int128{1} << b.lo), t);
}

Interval shift_right(DType t, Interval a, Interval b) {
  if (b.is_point() && b.lo >= 0 && b.lo < bits_of(t)) return {a.lo >> b.lo, a.hi >> b.lo};
  // Towards 0, or -1 from below.
  return {a.lo < 0 ? a.lo : 0, a.hi < 0 ? -1 : a.hi};
}

Interval compare(BinaryOp op, Interval a, Interval b) {
  switch (op) {
    case BinaryOp::Lt: return a.hi < b.lo ? bit(true) : a.lo >= b.hi ? bit(false) : kBit;
    case BinaryOp::Le: return a.hi <= b.lo ? bit(true) : a.lo > b.hi ? bit(false) : kBit;
    case BinaryOp::Gt: return compare(BinaryOp::Lt, b, a);
    case BinaryOp::Ge: return compare(BinaryOp::Le, b, a);
    case BinaryOp::Eq:
      if (a.hi < b.lo || b.hi < a.lo) return bit(false);
      return a.is_point() && b.is_point() ? bit(true) : kBit;
    default: {
      const Interval eq = compare(BinaryOp::Eq, a, b);
      return {1 - eq.hi, 1 - eq.lo};
    }
  }
}

}  // namespace

Wide operator+(Wide a, Wide b) {
  if (!a.bounded() || !b.bounded()) return Wide::unbounded();
  return {limit(a.lo + b.lo), limit(a.hi + b.hi)};
}

Wide operator*(Wide a, Int128 factor) {
  Int128 x, y;
  if (!a.bounded() || __builtin_mul_overflow(a.lo, factor, &x) ||
      __builtin_mul_overflow(a.hi, factor, &y)) {
    return Wide::unbounded();
  }
  return {limit(std::min(x, y)), limit(std::max(x, y))};
}

Int128 floordiv(Int128 a, Int128 b) {
  const Int128 q = a / b;
  return q - (a % b < 0 ? 1 : 0);
}

Interval type_range(DType t) {
  if (t == DType::U64 || is_float(t)) return {};
  return {int_min(t), int_max(t)};
}

bool fits(Wide r, DType t) {
  const Interval all = t == DType::U64 ? Interval{0, INT64_MAX} : type_range(t);
  return r.lo >= all.lo && r.hi <= all.hi;
}

Interval range_of_binary(BinaryOp op, DType t, Interval a, Interval b) {
  using enum BinaryOp;
  const DType result = is_comparison(op) ? DType::Bool : t;
  if (is_float(t)) return type_range(result);
  if (!are_numbers(t, a, b)) return type_range(result);
  switch (op) {
    case Add: return clamp_to(Wide::of(a) + Wide::of(b), t);
    case Sub: return clamp_to(Wide::of(a) + Wide::of(b) * -1, t);
    case Mul: return clamp_to(corners(a, b, [](Int128 x, Int128 y) { return x * y; }), t);
    case FloorDiv: return divide(t, a, b, true);
    case TruncDiv: return divide(t, a, b, false);
    case FloorMod: return modulo_floor(t, a, b);
    case TruncMod: return modulo_trunc(t, a, b);
    case Min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case Max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case And:
    case Or:
    case Xor: return bitwise(op, t, a, b);
    case Shl: return shift_left(t, a, b);
    case Shr: return shift_right(t, a, b);
    case Div:
    case Pow: break;
    case Lt:
    case Le:
    case Gt:
    case Ge:
    case Eq:
    case Ne: return compare(op, a, b);
  }
  ESP_UNREACHABLE(name_of(op), " of ", name_of(t));
}

Interval range_of_unary(UnaryOp op, DType t, Interval a) {
  if (is_float(t) || !are_numbers(t, a, a)) return type_range(t);
  if (t == DType::Bool) return {1 - a.hi, 1 - a.lo};
  switch (op) {
    case UnaryOp::Neg: return clamp_to(Wide::of(a) * -1, t);
    case UnaryOp::Not: return is_signed_int(t) ? Interval{~a.hi, ~a.lo} : type_range(t);
    case UnaryOp::Abs: {
      const Int128 lo = a.lo > 0 ? Int128{a.lo} : a.hi < 0 ? -Int128{a.hi} : Int128{0};
      return clamp_to({lo, magnitude(a)}, t);
    }
    default: ESP_UNREACHABLE(name_of(op), " of ", name_of(t));
  }
}

Interval range_of_cast(DType from, DType to, Interval a) {
  if (is_float(from) || is_float(to)) return type_range(to);
  if (to == DType::Bool) {
    if (a.lo > 0 || a.hi < 0) return bit(true);
    return a.lo == 0 && a.hi == 0 ? bit(false) : kBit;
  }
  if (to == DType::U64 && is_signed_int(from)) return a;  // the same pattern
  if (from == DType::U64 && a.lo < 0) return to == DType::I64 ? a : type_range(to);
  return clamp_to(Wide::of(a), to);
}

}  // namespace espalier
