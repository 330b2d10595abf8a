#include "espalier/codegen/math/builder.h"

namespace espalier::math {
namespace {

// After N. Juffa.
Expr erf_f32(Builder& b, const Expr& x) {
  const Expr t = b.bind(b.at_most(b.abs(x), 4.0));  // 1 from there on
  const Expr s = b.bind(b.mul(t, t));
  const Expr small = make_fma(b.polynomial(s, {1.28379166e-1, -3.76125336e-1, 1.12819925e-1,
                                               -2.67681349e-2, 4.99119423e-3, -5.96761703e-4}),
                              t, t);
  Expr r = make_fma(make_fma(b.number(-1.72853470e-5), t, b.number(3.83197126e-4)), s,
                    make_fma(b.number(-3.88396438e-3), t, b.number(2.42546219e-2)));
  for (const double c : {-1.06777877e-1, -6.34846687e-1, -1.28717512e-1}) {
    r = make_fma(r, t, b.number(c));
  }
  r = b.bind(make_fma(r, t, b.neg(t)));
  const Expr large = b.sub(b.number(1), exp_in_range(b, r));
  return b.with_sign_of(b.select(b.lt(b.number(0.927734375), t), large, small), x);
}

// erf(x)/x by a polynomial in x^2 up to 1; beyond, 1 - exp(-x^2) P((x - 3) / (x + 3)).
Expr erf_f64(Builder& b, const Expr& x) {
  const Expr t = b.bind(b.at_most(b.abs(x), 6.0));  // 1 from there on
  const Expr s = b.bind(b.mul(t, t));
  const Expr small = make_fma(
      b.polynomial(s, {0.12837916709551259, -0.37612638903183754, 0.11283791670955121,
                       -0.02686617064512984, 0.0052239776254232985, -0.00085483270219348297,
                       0.00012055332902888736, -1.4925647567519332e-05, 1.6462045441468418e-06,
                       -1.6364642158167616e-07, 1.4792401209404813e-08, -1.216456005728345e-09,
                       8.7090451290531062e-11, -4.2309458242953377e-12}),
      t, t);
  const Expr u = b.bind(b.div(b.sub(t, b.number(3)), b.add(t, b.number(3))));
  const Expr p = b.polynomial(
      u, {0.17900115118138996, -0.32623356004303722, 0.24560380171233487, -0.15011593650077898,
          0.071665837197473076, -0.024392499318915004, 0.0042691363569612251,
          0.00070774646669414252, -0.00059706249649245445, 4.5254345589910087e-05,
          6.4062792260460386e-05, -1.2845780030775907e-05, -8.00978093907608e-06,
          2.0135111426447427e-06, 1.2755818949624478e-06, 3.3813551420429039e-09});
  const Expr e = exp_in_range(b, b.bind(b.neg(s)));
  const Expr large = make_fma(b.neg(e), p, b.number(1));
  return b.with_sign_of(b.select(b.lt(b.number(1), t), large, small), x);
}

}  // namespace

Expr erf(Builder& b, const Expr& x) { return b.is_f32() ? erf_f32(b, x) : erf_f64(b, x); }

}  // namespace espalier::math
