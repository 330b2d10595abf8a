#include "espalier/codegen/math/builder.h"

namespace espalier::math {
namespace {

// x^y for x > 0 as exp(y log x), in f64 with the logarithm and its product with y in two parts.
Expr power_of_positive(Builder& b, const Expr& x, const Expr& y) {
  const LogParts l = log_parts(b, x);
  const Expr log_x = b.bind(log_specials(b, x, l.high));
  const Expr high = b.bind(b.mul(y, log_x));
  const Expr lost = make_fma(y, log_x, b.neg(high));
  const Expr low = make_fma(y, l.low, lost);
  // Infinities have no second part.
  const Expr finite = b.lt(b.abs(high), b.number(1e9));
  const Expr correction = b.select(finite, low, b.number(0));
  const Expr e = b.bind(exp(b, high));
  const Expr corrected = make_fma(e, correction, e);
  // An infinite e times a correction of 0 would be NaN.
  return b.select(b.le(e, b.number(1.7e308)), corrected, e);
}

}  // namespace

// The cases of C's pow: x^0 = 1 and 1^y = 1 even for NaN; a negative x has a power for integer y
// only, negative where y is odd.
Expr pow(Builder& caller, const Expr& x_in, const Expr& y_in) {
  Builder b = caller.as(DType::F64);
  const Expr x = b.bind(make_cast(b.type(), x_in)), y = b.bind(make_cast(b.type(), y_in));
  const Expr zero = b.number(0), one = b.number(1);
  const Expr ax = b.bind(b.abs(x)), ay = b.abs(y);
  const Expr magnitude = b.bind(power_of_positive(b, ax, y));

  const auto is_whole = [&](const Expr& v) { return b.eq(make_unary(UnaryOp::Floor, v), v); };
  const Expr whole = b.bind(is_whole(y));
  const Expr half = b.bind(b.mul(y, b.number(0.5)));
  const Expr odd = b.both(whole, make_unary(UnaryOp::Not, is_whole(half)));
  const Expr signed_power = b.select(odd, b.with_sign_of(magnitude, x), magnitude);
  const Expr has_none = b.both(b.both(b.lt(x, zero), make_unary(UnaryOp::Not, whole)),
                               b.both(b.lt(ax, b.infinity()), b.eq(y, y)));
  Expr result = b.select(has_none, b.nan(), signed_power);
  const Expr is_one =
      make_binary(BinaryOp::Or, make_binary(BinaryOp::Or, b.eq(y, zero), b.eq(x, one)),
                  b.both(b.eq(ax, one), b.eq(ay, b.infinity())));
  return make_cast(caller.type(), b.select(is_one, one, result));
}

}  // namespace espalier::math
