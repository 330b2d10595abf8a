// Expressions over f64 with a bound on the error of computing them in their own types.
#pragma once

#include <functional>
#include <map>

#include "espalier/ir/tensor.h"

namespace espalier {

// |computed - value| <= relative * |value| + floor + absolute. The parts that are numbers cost
// nothing where the value is used: exact inputs have none of them, a product of exact inputs only
// the first two.
struct Bounded {
  Expr value;           // f64 where the original is a float; else of the original's type
  double relative = 0;  // floats only
  double floor = 0;
  Expr absolute;  // f64; empty: 0

  bool exact() const { return relative == 0 && floor == 0 && absolute.get() == nullptr; }
  Expr total() const;             // f64
  Expr without_relative() const;  // f64 or empty
  Expr magnitude() const;         // |value| as f64
};

// Sums and products of f64 expressions where empty stands for 0.
Expr plus(const Expr& a, const Expr& b);
Expr times(double factor, const Expr& e);

Expr widened(const Expr& e);  // as f64

// Of a + b or a - b, a * b, a / b, min or max of a and b; `value` is that expression, `t` the type
// it is computed in.
Bounded bounded_sum(const Bounded& a, const Bounded& b, Expr value, DType t);
Bounded bounded_product(const Bounded& a, const Bounded& b, Expr value, DType t);
Bounded bounded_quotient(const Bounded& a, const Bounded& b, Expr value, DType t);
Bounded bounded_extremum(const Bounded& a, const Bounded& b, Expr value);

// What the rounding of a result to type `t` adds: relative, and absolute below the normal numbers.
double rounding_of(DType t);
double underflow_of(DType t);
// What one more rounding makes of an error that is there already: 1 + u in narrow types, where that
// shows.
double growth_of(DType t);
// One relative error after another: (1 + a)(1 + b) - 1.
double compound(double a, double b);

class BoundedExprs {
 public:
  // `read` gives what a read is with these (already translated) indices; `is_safe` whether it is
  // in range even where the original's condition for it does not hold.
  using ReadFunction = std::function<Bounded(const ReadNode&, std::vector<Expr>)>;
  using SafeFunction = std::function<bool(const ReadNode&)>;
  // `keep` (optional) computes an intermediate result in stages of its own and gives what reading
  // them is: each operation names its operands several times, so what is long would soon be huge.
  using KeepFunction = std::function<Bounded(const Bounded&)>;
  BoundedExprs(ReadFunction read, SafeFunction is_safe, KeepFunction keep = {})
      : read_(std::move(read)), is_safe_(std::move(is_safe)), keep_(std::move(keep)) {}

  Bounded operator()(const Expr& e);

 private:
  Bounded translate(const Expr& e);
  Bounded operand(const Expr& e);
  Bounded translate_cast(DType to, const Expr& inner);
  Bounded translate_unary(UnaryOp op, DType t, const Expr& inner);
  static Bounded translate_math(UnaryOp op, DType t, const Bounded& a);
  static Bounded translate_binary(BinaryOp op, DType t, const Bounded& a, const Bounded& b);
  Bounded translate_select(const SelectNode& e);
  bool reads_safely(const Expr& e) const;

  ReadFunction read_;
  SafeFunction is_safe_;
  KeepFunction keep_;
  std::map<const ExprNode*, Bounded> known_;
};

}  // namespace espalier
