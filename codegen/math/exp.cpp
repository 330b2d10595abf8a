// exp and what is made of it. exp(x) = 2^n * exp(r) with n = round(x / ln 2), r = x - n ln 2 in two
// steps (Cody and Waite), and a polynomial in r fitted on [-ln 2 / 2, ln 2 / 2].
#include "espalier/codegen/math/builder.h"

namespace espalier::math {
namespace {

constexpr double kLog2E = 1.4426950408889634;

// exp(x) >= the smallest normal number from here on, and finite up to the second.
constexpr double kLowestF32 = -87.33654022216797, kHighestF32 = 88.72283172607422;
constexpr double kLowestF64 = -708.39641853226397, kHighestF64 = 709.782712893384;

// The sum with 1.5 * 2^mantissa leaves round(x / ln 2) in its low bits.
double magic(const Builder& b) { return b.is_f32() ? 12582912.0 : 6755399441055744.0; }

}  // namespace

ExpParts exp_parts(Builder& b, const Expr& x) {
  const Expr sum = b.bind(make_fma(x, b.number(kLog2E), b.number(magic(b))));
  const Expr n = b.bind(b.sub(sum, b.number(magic(b))));
  // The higher part of ln 2 has so few bits that its product with n is exact.
  const double high = b.is_f32() ? 0.693145751953125 : 6.93147180369123816490e-01;
  const double low = b.is_f32() ? 1.42860677e-6 : 1.90821492927058770002e-10;
  const Expr r = b.bind(make_fma(n, b.number(-low), make_fma(n, b.number(-high), x)));
  const Expr p =
      b.is_f32()
          ? b.polynomial(r, {0.5, 0.16666576266288757, 0.041666552424430847, 0.0083632925525307655,
                             0.0013926326064392924})
          : b.polynomial(r, {0.50000000000000011, 0.16666666666666669, 0.041666666666623477,
                             0.0083333333333300112, 0.0013888888917538296, 0.00019841269863303223,
                             2.4801520792572694e-05, 2.7557268072890098e-06, 2.7620327428268239e-07,
                             2.5100569275813683e-08});
  return {b.bind(make_fma(b.mul(r, r), p, r)), sum};
}

Expr power_of_two(Builder& b, const ExpParts& parts) {
  const Expr exponent = b.shl(b.bits(parts.magic_sum), b.mantissa_bits());
  return b.from_bits(b.add(exponent, b.bits(b.number(1))));
}

Expr exp_in_range(Builder& b, const Expr& x) {
  const ExpParts parts = exp_parts(b, x);
  // Adding n to the exponent of a number close to 1 scales it, even where 2^n itself does not
  // exist.
  const Expr exponent = b.shl(b.bits(parts.magic_sum), b.mantissa_bits());
  return b.from_bits(b.add(b.bits(b.add(parts.q, b.number(1))), exponent));
}

Expr exp(Builder& b, const Expr& x) {
  const Expr y = exp_in_range(b, x);
  const Expr lowest = b.number(b.is_f32() ? kLowestF32 : kLowestF64);
  const Expr highest = b.number(b.is_f32() ? kHighestF32 : kHighestF64);
  // Beyond the highest x + inf is inf, and NaN stays what it is.
  return b.select(b.le(x, highest), b.select(b.lt(x, lowest), b.number(0), y),
                  b.add(x, b.infinity()));
}

// 1 / (1 + exp(-x)): where exp overflows the result is 0.
Expr sigmoid(Builder& b, const Expr& x) {
  const Expr e = exp(b, b.bind(b.neg(x)));
  return b.div(b.number(1), b.add(e, b.number(1)));
}

// (e - 1) / (e + 1) for e = exp(2 |x|), from e - 1, which keeps its accuracy around 0.
Expr tanh(Builder& b, const Expr& x) {
  const Expr magnitude = b.at_most(b.abs(x), b.is_f32() ? 10.0 : 20.0);  // 1 from there on
  const ExpParts parts = exp_parts(b, b.bind(b.add(magnitude, magnitude)));
  const Expr scale = b.bind(power_of_two(b, parts));
  const Expr m = b.bind(make_fma(parts.q, scale, b.sub(scale, b.number(1))));
  return b.with_sign_of(b.div(m, b.add(m, b.number(2))), x);
}

Expr rsqrt(Builder& b, const Expr& x) { return b.div(b.number(1), make_unary(UnaryOp::Sqrt, x)); }

}  // namespace espalier::math
