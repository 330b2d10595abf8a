#include "espalier/codegen/math/builder.h"

namespace espalier::math {
namespace {

constexpr double kLargest = 0x1p49;  // where the reduction below ends to be one

// sin(x + quarters * pi/2). x is reduced in f64 by a multiple of pi/2 that is taken off in three
// parts.
Expr sine(Builder& b, const Expr& x, int quarters) {
  Builder d = b.as(DType::F64);
  constexpr double kMagic = 6755399441055744.0;
  const Expr wide = d.bind(make_cast(d.type(), x));
  const Expr sum = d.bind(make_fma(wide, d.number(0.63661977236758134308), d.number(kMagic)));
  const Expr n = d.bind(d.sub(sum, d.number(kMagic)));
  Expr reduced = make_fma(n, d.number(-1.5707963267948965580e+00), wide);
  reduced = make_fma(n, d.number(-6.123233995736766036e-17), reduced);
  reduced = make_fma(n, d.number(1.4973849048591833e-33), reduced);
  const Expr quadrant = d.bind(d.add(d.bits(sum), d.integer(quarters)));
  const Expr zero = d.integer(0);
  const Expr is_cosine = d.bind(d.ne(d.bit_and(quadrant, 1), zero));
  const Expr is_negative = d.bind(d.ne(d.bit_and(quadrant, 2), zero));

  const Expr r = b.bind(make_cast(b.type(), reduced));
  const Expr s = b.bind(b.mul(r, r));
  const Expr sp =
      b.is_f32()
          ? b.polynomial(s, {-0.1666666716337204, 0.0083333319053053856, -0.00019840039021801203,
                             2.7243781914876308e-06})
          : b.polynomial(s, {-0.16666666666666666, 0.0083333333333333176, -0.00019841269841240348,
                             2.7557319204058608e-06, -2.5052101972683493e-08, 1.605798407351657e-10,
                             -7.5602383280796119e-13});
  const Expr cp =
      b.is_f32()
          ? b.polynomial(s, {0.041666664183139801, -0.0013888279208913445, 2.4542870960431173e-05})
          : b.polynomial(s, {0.041666666666666664, -0.0013888888888888881, 2.4801587301570903e-05,
                             -2.7557319212905586e-07, 2.0876753422308373e-09,
                             -1.1470156409350018e-11, 4.7311588129943605e-14});
  const Expr sin_r = make_fma(b.mul(r, s), sp, r);
  // 1 - s/2 in two parts: the difference is exact to the last bit that cp can reach.
  const Expr half = b.bind(b.mul(s, b.number(0.5)));
  const Expr head = b.bind(b.sub(b.number(1), half));
  const Expr lost = b.sub(b.sub(b.number(1), head), half);
  const Expr cos_r = b.add(head, make_fma(b.mul(s, s), cp, lost));
  const Expr y = b.bind(b.select(is_cosine, cos_r, sin_r));
  const Expr sign_applied = b.select(is_negative, b.neg(y), y);
  return b.select(b.le(b.abs(x), b.number(kLargest)), sign_applied, b.nan());
}

}  // namespace

Expr sin(Builder& b, const Expr& x) { return sine(b, x, 0); }
Expr cos(Builder& b, const Expr& x) { return sine(b, x, 1); }

}  // namespace espalier::math
