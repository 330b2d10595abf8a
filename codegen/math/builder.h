// Writing arithmetic over scalars and vectors alike, with shared intermediate values.
#pragma once

#include <initializer_list>
#include <vector>

#include "espalier/ir/stmt.h"

namespace espalier::math {

using Binding = std::pair<Var, Expr>;  // a value that later ones may use

// Builds expressions of one floating-point type, f32 or f64, of any number of lanes. An expression
// that is used more than once must be bound, or its computation is repeated.
class Builder {
 public:
  Builder(Type type, std::vector<Binding>* bindings) : type_(type), bindings_(bindings) {}

  Type type() const { return type_; }
  bool is_f32() const { return type_.dtype == DType::F32; }
  Type int_type() const { return type_.with_dtype(is_f32() ? DType::I32 : DType::I64); }
  int mantissa_bits() const { return is_f32() ? 23 : 52; }
  // The same lanes in the other precision.
  Builder as(DType t) const { return Builder(type_.with_dtype(t), bindings_); }

  Expr bind(Expr e);  // e itself when it is a variable or a constant
  Expr number(double v) const { return make_float(type_, v); }
  Expr integer(int64_t v) const { return make_int(int_type(), v); }
  Expr infinity() const;
  Expr nan() const;

  Expr add(Expr a, Expr b) const { return make_binary(BinaryOp::Add, a, b); }
  Expr sub(Expr a, Expr b) const { return make_binary(BinaryOp::Sub, a, b); }
  Expr mul(Expr a, Expr b) const { return make_binary(BinaryOp::Mul, a, b); }
  Expr div(Expr a, Expr b) const { return make_binary(BinaryOp::Div, a, b); }
  Expr neg(Expr a) const { return make_unary(UnaryOp::Neg, a); }
  Expr abs(Expr a) const { return make_unary(UnaryOp::Abs, a); }
  // Keeps a NaN in `a`; one operation, as the bound is a number.
  Expr at_most(Expr a, double bound) const { return make_binary(BinaryOp::Min, number(bound), a); }
  Expr lt(Expr a, Expr b) const { return make_binary(BinaryOp::Lt, a, b); }
  Expr le(Expr a, Expr b) const { return make_binary(BinaryOp::Le, a, b); }
  Expr eq(Expr a, Expr b) const { return make_binary(BinaryOp::Eq, a, b); }
  Expr ne(Expr a, Expr b) const { return make_binary(BinaryOp::Ne, a, b); }
  Expr both(Expr a, Expr b) const { return make_binary(BinaryOp::And, a, b); }
  Expr select(Expr c, Expr a, Expr b) const { return make_select(c, a, b); }

  Expr bits(Expr e) const { return make_reinterpret(int_type(), e); }
  Expr from_bits(Expr e) const { return make_reinterpret(type_, e); }
  Expr shl(Expr e, int n) const { return make_binary(BinaryOp::Shl, e, integer(n)); }
  Expr shr(Expr e, int n) const { return make_binary(BinaryOp::Shr, e, integer(n)); }
  Expr bit_and(Expr e, int64_t m) const { return make_binary(BinaryOp::And, e, integer(m)); }
  // The magnitude of `a` (not negative) with the sign of `s`.
  Expr with_sign_of(Expr a, Expr s) const;

  // c0 + x * (c1 + x * (...)), by fused multiply-adds. x must be bound.
  Expr polynomial(Expr x, std::initializer_list<double> coefficients) const;

 private:
  Type type_;
  std::vector<Binding>* bindings_;
};

// One function each; `x` must be bound. Error bounds stand in expand_math.h.
Expr exp(Builder& b, const Expr& x);
Expr log(Builder& b, const Expr& x);
Expr tanh(Builder& b, const Expr& x);
Expr erf(Builder& b, const Expr& x);
Expr sigmoid(Builder& b, const Expr& x);
Expr rsqrt(Builder& b, const Expr& x);
Expr sin(Builder& b, const Expr& x);
Expr cos(Builder& b, const Expr& x);
Expr pow(Builder& b, const Expr& x, const Expr& y);

// exp(x) without any regard for x outside of the range in which it is a normal number. A NaN may be
// lost.
Expr exp_in_range(Builder& b, const Expr& x);

// exp(x) = 2^n * (1 + q): `power` is 2^n as a number, `q` = exp(r) - 1 with |r| <= ln 2 / 2. NaN
// goes into q.
struct ExpParts {
  Expr q, magic_sum;  // n, as the low bits of a sum
};
ExpParts exp_parts(Builder& b, const Expr& x);
Expr power_of_two(Builder& b, const ExpParts& parts);

// log(x) = high + low, for finite x > 0, in f64. `low` is too small to matter beside `high` alone.
struct LogParts {
  Expr high, low;
};
LogParts log_parts(Builder& b, const Expr& x);
// The value where x is 0, negative, infinite or NaN; `y` elsewhere.
Expr log_specials(Builder& b, const Expr& x, const Expr& y);

}  // namespace espalier::math
