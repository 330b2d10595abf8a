// Bounds on the results of the four operations, min and max.
#include <algorithm>
#include <cmath>

#include "espalier/ir/internal/bounded_expr.h"

namespace espalier {
namespace {

Expr f64(double v) { return make_float(DType::F64, v); }

std::optional<double> constant_magnitude(const Bounded& b) {
  const auto* c = b.value.as<ConstNode>();
  if (c == nullptr || !is_float(c->type.dtype)) return std::nullopt;
  return std::fabs(c->f);
}

}  // namespace

Expr widened(const Expr& e) { return e.type().dtype == DType::F64 ? e : make_cast(DType::F64, e); }

Expr plus(const Expr& a, const Expr& b) {
  if (!a) return b;
  if (!b) return a;
  return make_binary(BinaryOp::Add, a, b);
}
Expr times(double factor, const Expr& e) {
  if (!e || factor == 0) return {};
  return factor == 1 ? e : make_binary(BinaryOp::Mul, e, f64(factor));
}

double rounding_of(DType t) {
  if (!is_float(t)) return 0;
  // The reference is in f64 as well, and rounds too.
  return t == DType::F64 ? 2 * unit_roundoff(t) : unit_roundoff(t);
}
double underflow_of(DType t) {
  switch (t) {
    case DType::F32: return 0x1p-150;
    case DType::F16: return 0x1p-25;
    case DType::BF16: return 0x1p-134;
    default: return 0;
  }
}

double compound(double a, double b) { return a + b + a * b; }
double growth_of(DType t) { return is_float(t) && bytes_of(t) < 4 ? 1 + unit_roundoff(t) : 1; }

Expr Bounded::magnitude() const { return abs(widened(value)); }

Expr Bounded::without_relative() const { return floor > 0 ? plus(absolute, f64(floor)) : absolute; }

Expr Bounded::total() const {
  Expr e = without_relative();
  if (relative > 0) e = plus(e, times(relative, magnitude()));
  return e ? e : f64(0);
}

Bounded bounded_sum(const Bounded& a, const Bounded& b, Expr value, DType t) {
  const double growth = growth_of(t);
  Bounded r{std::move(value), rounding_of(t), growth * (a.floor + b.floor),
            times(growth, plus(a.absolute, b.absolute))};
  for (const Bounded* x : {&a, &b}) {
    if (x->relative > 0) r.absolute = plus(r.absolute, times(growth * x->relative, x->magnitude()));
  }
  return r;
}

Bounded bounded_product(const Bounded& a, const Bounded& b, Expr value, DType t) {
  Bounded r;
  r.value = std::move(value);
  const double own = rounding_of(t);
  const double growth = growth_of(t);
  r.relative = compound(own, compound(a.relative, b.relative));
  r.floor = underflow_of(t);
  if (const auto c = constant_magnitude(a); c && a.exact()) {
    r.floor += growth * *c * b.floor;
    r.absolute = times(growth * *c, b.absolute);
    return r;
  }
  if (const auto c = constant_magnitude(b); c && b.exact()) {
    r.floor += growth * *c * a.floor;
    r.absolute = times(growth * *c, a.absolute);
    return r;
  }
  const Expr da = a.without_relative(), db = b.without_relative();
  if (!da && !db) return r;
  const Expr ma = a.magnitude(), mb = b.magnitude();
  if (!da) {
    r.absolute = ma * db;
  } else if (!db) {
    r.absolute = mb * da;
  } else {
    // da and db once each, or nested products would double in size; the difference cancels at
    // the precision of f64.
    r.absolute = (ma + da) * (mb + db) - ma * mb;
    r.relative += 0x1p-51;
  }
  if (growth > 1) {
    r.absolute = times(growth * (1 + a.relative) * (1 + b.relative), r.absolute);
  }
  return r;
}

Bounded bounded_quotient(const Bounded& a, const Bounded& b, Expr value, DType t) {
  Bounded r;
  r.value = std::move(value);
  const double growth = growth_of(t);
  const double inherited = a.relative + b.relative;
  r.relative = compound(rounding_of(t), inherited);
  r.floor = underflow_of(t);
  const Expr da = a.without_relative(), db = b.without_relative();
  if (!db) {
    const double least = 1 - b.relative;  // of the divisor, in units of its value
    const auto c = constant_magnitude(b);
    if (least <= 0) {
      r.absolute = f64(HUGE_VAL);
    } else if (c && *c > 0) {
      r.relative = compound(rounding_of(t), inherited / least);
      r.floor += growth * a.floor / (*c * least);
      r.absolute = times(growth / (*c * least), a.absolute);
    } else {
      r.relative = compound(rounding_of(t), inherited / least);
      if (da) r.absolute = times(growth / least, da / b.magnitude());
    }
    return r;
  }
  // Infinite where the divisor may be 0.
  const Expr room = max(b.magnitude() - b.total(), f64(0));
  Expr change = plus(da, abs(r.value) * db);
  if (growth > 1) change = plus(change, times(inherited, abs(r.value) * b.total()));
  r.absolute = times(growth, change / room);
  return r;
}

// Either operand's error, whichever is chosen.
Bounded bounded_extremum(const Bounded& a, const Bounded& b, Expr value) {
  if (a.exact() && b.exact()) return Bounded{std::move(value), 0, 0, {}};
  Bounded r;
  r.value = std::move(value);
  r.floor = std::max(a.floor, b.floor);
  auto varying = [](const Bounded& x) {
    return x.relative > 0 ? plus(x.absolute, times(x.relative, x.magnitude())) : x.absolute;
  };
  const Expr ea = varying(a), eb = varying(b);
  if (!ea || !eb) {
    r.absolute = ea ? ea : eb;
  } else {
    r.absolute = max(ea, eb);
  }
  return r;
}

}  // namespace espalier
