#include <limits>

#include "espalier/codegen/math/builder.h"

namespace espalier::math {
namespace {

// x = m * 2^e with m in [low, 2 low). Subnormals are scaled first.
struct Decomposed {
  Expr m, e;
};
Decomposed decompose(Builder& b, const Expr& x, int64_t low_bits) {
  const int digits = b.mantissa_bits();
  const double smallest =
      b.is_f32() ? double{std::numeric_limits<float>::min()} : std::numeric_limits<double>::min();
  const Expr is_small = b.bind(b.lt(x, b.number(smallest)));
  const Expr scale = b.number(b.is_f32() ? 0x1p23 : 0x1p52);
  const Expr ix = b.bind(b.bits(b.select(is_small, b.mul(x, scale), x)));
  const Expr raised = b.sub(ix, b.integer(low_bits));
  const Expr e = b.bind(b.bit_and(raised, -(int64_t{1} << digits)));
  const Expr m = b.from_bits(b.sub(ix, e));
  const Expr shift = b.select(is_small, b.number(-digits), b.number(0));
  if (b.is_f32()) return {m, make_fma(make_cast(b.type(), e), b.number(0x1p-23), shift)};
  // A small integer added to the bits of 1.5 * 2^52 is added to the number.
  const Expr sum = b.from_bits(b.add(b.shr(e, digits), b.bits(b.number(6755399441055744.0))));
  return {m, b.add(b.sub(sum, b.number(6755399441055744.0)), shift)};
}

// After N. Juffa: m in [2/3, 4/3), and log1p by a polynomial.
Expr log_f32(Builder& b, const Expr& x) {
  const Decomposed d = decompose(b, x, 0x3f2aaaab);
  const Expr f = b.bind(b.sub(d.m, b.number(1)));
  const Expr s = b.bind(b.mul(f, f));
  Expr r = b.polynomial(s, {-0.249996200, -0.166846126, -0.121483512, -0.130310059});
  const Expr t = b.polynomial(s, {0.200120345, 0.139814854, 0.140869141});
  r = make_fma(t, f, r);
  r = make_fma(r, f, b.number(0.333331972));
  r = make_fma(r, f, b.number(-0.5));
  r = make_fma(r, s, f);
  return make_fma(d.e, b.number(0.693147182), r);
}

}  // namespace

// As FreeBSD's e_log.c: with s = f / (2 + f), log(1 + f) = f - (f^2/2 - s (f^2/2 + R(s^2))). What
// each rounding loses is kept in `low`.
LogParts log_parts(Builder& b, const Expr& x) {
  const Decomposed d = decompose(b, x, 0x3fe6a09e00000000);
  const Expr k = b.bind(d.e);
  const Expr f = b.bind(b.sub(d.m, b.number(1)));
  const Expr s = b.bind(b.div(f, b.add(f, b.number(2))));
  const Expr z = b.bind(b.mul(s, s));
  const Expr r = b.mul(z, b.polynomial(z, {6.666666666666735130e-01, 3.999999999940941908e-01,
                                           2.857142874366239149e-01, 2.222219843214978396e-01,
                                           1.818357216161805012e-01, 1.531383769920937332e-01,
                                           1.479819860511658591e-01}));
  const Expr half_f = b.bind(b.mul(f, b.number(0.5)));
  const Expr h = b.bind(b.mul(half_f, f));
  const Expr h_lost = make_fma(half_f, f, b.neg(h));
  const Expr rest = b.mul(s, b.add(h, r));
  // k ln 2 (exact in its higher part) + f - h, each sum with what it lost: |k ln 2| > |f| or k = 0,
  // and |f| > h.
  const Expr whole = b.bind(b.mul(k, b.number(6.93147180369123816490e-01)));
  const Expr a = b.bind(b.add(whole, f));
  const Expr a_lost = b.sub(f, b.sub(a, whole));
  const Expr c = b.bind(b.sub(a, h));
  const Expr c_lost = b.sub(b.sub(a, c), h);
  Expr low = b.add(b.add(a_lost, c_lost), b.sub(rest, h_lost));
  low = b.bind(make_fma(k, b.number(1.90821492927058770002e-10), low));
  const Expr high = b.bind(b.add(c, low));
  return {high, b.add(b.sub(c, high), low)};
}

Expr log_specials(Builder& b, const Expr& x, const Expr& y) {
  const double largest =
      b.is_f32() ? double{std::numeric_limits<float>::max()} : std::numeric_limits<double>::max();
  const Expr not_positive = b.select(b.eq(x, b.number(0)), b.neg(b.infinity()), b.nan());
  return b.select(b.lt(b.number(0), x), b.select(b.le(x, b.number(largest)), y, x), not_positive);
}

Expr log(Builder& b, const Expr& x) {
  return log_specials(b, x, b.is_f32() ? log_f32(b, x) : log_parts(b, x).high);
}

}  // namespace espalier::math
