// The operators and functions that users write expressions with: they bring operands to one type,
// and turn wrong use into a poisoned expression.
#include <cmath>
#include <initializer_list>
#include <optional>

#include "espalier/ir/expr.h"
#include "espalier/ir/scalar_ops.h"
#include "espalier/ir/tensor.h"
#include "espalier/support/check.h"

namespace espalier {
namespace {

std::optional<Expr> find_poison(std::initializer_list<const Expr*> operands) {
  for (const Expr* e : operands) {
    if (!*e) return poison("an empty expression is used as an operand");
    if (poison_message(*e) != nullptr) return *e;
  }
  return std::nullopt;
}

std::string quoted(std::string_view what) { return "'" + std::string(what) + "'"; }

Expr wrong_types(std::string_view what, const Expr& a, const Expr& b) {
  return poison(quoted(what) + " of " + to_string(a.type()) + " and " + to_string(b.type()) +
                ": cast one of them");
}

// Whether the constant means the same in type `t`; a negative number may stand for its bits in an
// unsigned type.
bool fits(const ConstNode& c, DType t) {
  if (is_float(t)) return true;
  if (is_float(c.type.dtype)) {
    return double_from_bits(t, bits_from_double(t, c.f)) == c.f && std::fabs(c.f) < 0x1p63;
  }
  if (c.type.dtype == DType::U64 && c.i < 0) return false;
  if (t == DType::U64) return true;
  const int64_t lo = is_unsigned_int(t) ? -(int_max(t) / 2 + 1) : int_min(t);
  return c.i >= lo && c.i <= int_max(t);
}

// Gives both operands one type; false when they have none in common.
bool unify(Expr& a, Expr& b, bool bools_are_numbers) {
  if (a.type().lanes != b.type().lanes) {
    if (a.type().lanes == 1) {
      a = make_broadcast(a, b.type().lanes);
    } else if (b.type().lanes == 1) {
      b = make_broadcast(b, a.type().lanes);
    } else {
      return false;
    }
  }
  const Type ta = a.type(), tb = b.type();
  const bool bool_a = ta.dtype == DType::Bool, bool_b = tb.dtype == DType::Bool;
  if (bool_a && bool_b && bools_are_numbers) {
    a = make_cast(ta.with_dtype(DType::I64), a);
    b = make_cast(tb.with_dtype(DType::I64), b);
    return true;
  }
  if (ta == tb) return true;
  if (bool_a || bool_b) {
    (bool_a ? a : b) = make_cast(bool_a ? tb : ta, bool_a ? a : b);
    return true;
  }
  const auto constant = [](const Expr& e) {
    const auto* splat = e.as<BroadcastNode>();
    return (splat != nullptr ? splat->value : e).as<ConstNode>();
  };
  const ConstNode *ca = constant(a), *cb = constant(b);
  if (cb != nullptr && ca != nullptr) {
    // Of two constants the integer, or else the one of the default type, gives way.
    const bool a_gives_way = is_float(ta.dtype) != is_float(tb.dtype)
                                 ? !is_float(ta.dtype)
                                 : ta.dtype == DType::I64 || ta.dtype == DType::F32;
    (a_gives_way ? cb : ca) = nullptr;
  }
  if (cb != nullptr && fits(*cb, ta.dtype)) {
    b = make_cast(ta, b);
    return true;
  }
  if (ca != nullptr && fits(*ca, tb.dtype)) {
    a = make_cast(tb, a);
    return true;
  }
  return false;
}

Expr arithmetic(BinaryOp op, std::string_view symbol, Expr a, Expr b) {
  if (auto p = find_poison({&a, &b})) return *p;
  if (!unify(a, b, !is_comparison(op))) return wrong_types(symbol, a, b);
  if (!is_defined(op, a.type().dtype)) return wrong_types(symbol, a, b);
  return make_binary(op, std::move(a), std::move(b));
}

Expr logical(BinaryOp op, std::string_view symbol, Expr a, Expr b) {
  if (auto p = find_poison({&a, &b})) return *p;
  if (a.type().dtype != DType::Bool || b.type().dtype != DType::Bool || !unify(a, b, false)) {
    return poison(quoted(symbol) + " of " + to_string(a.type()) + " and " + to_string(b.type()) +
                  ": both sides must be conditions");
  }
  return make_binary(op, std::move(a), std::move(b));
}

// min and max of two conditions stay conditions.
Expr extremum(BinaryOp op, Expr a, Expr b) {
  if (auto p = find_poison({&a, &b})) return *p;
  if (!unify(a, b, false)) return wrong_types(name_of(op), a, b);
  return make_binary(op, std::move(a), std::move(b));
}

Expr function(UnaryOp op, Expr a) {
  if (auto p = find_poison({&a})) return *p;
  if (!is_defined(op, a.type().dtype)) {
    return poison(quoted(name_of(op)) + " of " + to_string(a.type()) + ": it is not defined there");
  }
  return make_unary(op, std::move(a));
}

Expr function_of_number(UnaryOp op, Expr a) {
  if (auto p = find_poison({&a})) return *p;
  if (a.type().dtype == DType::Bool) a = make_cast(a.type().with_dtype(DType::I64), a);
  return function(op, std::move(a));
}

// Division of integers is `on_integers`, of floats `on_floats`.
Expr division(BinaryOp on_floats, BinaryOp on_integers, std::string_view symbol, Expr a, Expr b) {
  if (auto p = find_poison({&a, &b})) return *p;
  if (!unify(a, b, true)) return wrong_types(symbol, a, b);
  return make_binary(is_float(a.type().dtype) ? on_floats : on_integers, std::move(a),
                     std::move(b));
}

}  // namespace

Expr operator+(Expr a, Expr b) {
  return arithmetic(BinaryOp::Add, "+", std::move(a), std::move(b));
}
Expr operator-(Expr a, Expr b) {
  return arithmetic(BinaryOp::Sub, "-", std::move(a), std::move(b));
}
Expr operator*(Expr a, Expr b) {
  return arithmetic(BinaryOp::Mul, "*", std::move(a), std::move(b));
}
Expr operator/(Expr a, Expr b) {
  return division(BinaryOp::Div, BinaryOp::TruncDiv, "/", std::move(a), std::move(b));
}
Expr operator%(Expr a, Expr b) {
  return division(BinaryOp::TruncMod, BinaryOp::TruncMod, "%", std::move(a), std::move(b));
}
Expr operator-(Expr a) { return function_of_number(UnaryOp::Neg, std::move(a)); }

Expr operator<(Expr a, Expr b) { return arithmetic(BinaryOp::Lt, "<", std::move(a), std::move(b)); }
Expr operator<=(Expr a, Expr b) {
  return arithmetic(BinaryOp::Le, "<=", std::move(a), std::move(b));
}
Expr operator>(Expr a, Expr b) { return arithmetic(BinaryOp::Gt, ">", std::move(a), std::move(b)); }
Expr operator>=(Expr a, Expr b) {
  return arithmetic(BinaryOp::Ge, ">=", std::move(a), std::move(b));
}
Expr operator==(Expr a, Expr b) {
  return arithmetic(BinaryOp::Eq, "==", std::move(a), std::move(b));
}
Expr operator!=(Expr a, Expr b) {
  return arithmetic(BinaryOp::Ne, "!=", std::move(a), std::move(b));
}
Expr operator&&(Expr a, Expr b) { return logical(BinaryOp::And, "&&", std::move(a), std::move(b)); }
Expr operator||(Expr a, Expr b) { return logical(BinaryOp::Or, "||", std::move(a), std::move(b)); }
Expr logical_not(Expr a) {
  if (auto p = find_poison({&a})) return *p;
  if (a.type().dtype != DType::Bool) {
    return poison("'logical_not' of " + to_string(a.type()) + ": the operand must be a condition");
  }
  return make_unary(UnaryOp::Not, std::move(a));
}

Expr floordiv(Expr a, Expr b) {
  return arithmetic(BinaryOp::FloorDiv, "floordiv", std::move(a), std::move(b));
}
Expr floormod(Expr a, Expr b) {
  return arithmetic(BinaryOp::FloorMod, "floormod", std::move(a), std::move(b));
}
Expr min(Expr a, Expr b) { return extremum(BinaryOp::Min, std::move(a), std::move(b)); }
Expr max(Expr a, Expr b) { return extremum(BinaryOp::Max, std::move(a), std::move(b)); }
Expr pow(Expr a, Expr b) { return arithmetic(BinaryOp::Pow, "pow", std::move(a), std::move(b)); }

Expr select(Expr cond, Expr a, Expr b) {
  if (auto p = find_poison({&cond, &a, &b})) return *p;
  if (!unify(a, b, false)) return wrong_types("select", a, b);
  const Type t = cond.type();
  if (t.dtype != DType::Bool ||
      (t.is_vector() && a.type().is_vector() && t.lanes != a.type().lanes)) {
    return poison("'select' of " + to_string(a.type()) + " by " + to_string(t) +
                  ": the first operand must be a condition");
  }
  if (t.is_vector() && !a.type().is_vector()) {
    a = make_broadcast(a, t.lanes);
    b = make_broadcast(b, t.lanes);
  }
  return make_select(std::move(cond), std::move(a), std::move(b));
}

Expr cast(DType t, Expr a) {
  if (auto p = find_poison({&a})) return *p;
  const Type to = a.type().with_dtype(t);
  return make_cast(to, std::move(a));
}

Expr abs(Expr a) { return function_of_number(UnaryOp::Abs, std::move(a)); }
Expr sqrt(Expr a) { return function(UnaryOp::Sqrt, std::move(a)); }
Expr floor(Expr a) { return function(UnaryOp::Floor, std::move(a)); }
Expr ceil(Expr a) { return function(UnaryOp::Ceil, std::move(a)); }
Expr round(Expr a) { return function(UnaryOp::Round, std::move(a)); }
Expr exp(Expr a) { return function(UnaryOp::Exp, std::move(a)); }
Expr log(Expr a) { return function(UnaryOp::Log, std::move(a)); }
Expr tanh(Expr a) { return function(UnaryOp::Tanh, std::move(a)); }
Expr erf(Expr a) { return function(UnaryOp::Erf, std::move(a)); }
Expr sigmoid(Expr a) { return function(UnaryOp::Sigmoid, std::move(a)); }
Expr rsqrt(Expr a) { return function(UnaryOp::Rsqrt, std::move(a)); }
Expr sin(Expr a) { return function(UnaryOp::Sin, std::move(a)); }
Expr cos(Expr a) { return function(UnaryOp::Cos, std::move(a)); }

}  // namespace espalier
