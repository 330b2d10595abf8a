#include "espalier/ir/scalar_ops.h"

#include <cfloat>
#include <cmath>

#include "espalier/ir/internal/scalar_rep.h"

namespace espalier {
namespace {

template <class T>
T trunc_div(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(0 - wide(a));
  }
  return static_cast<T>(a / b);
}
template <class T>
T trunc_mod(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}
template <class T>
T floor_div(T a, T b) {
  const T q = trunc_div(a, b);
  if constexpr (std::is_signed_v<T>) {
    if (trunc_mod(a, b) != 0 && (a < 0) != (b < 0)) return static_cast<T>(q - 1);
  }
  return q;
}
template <class T>
T floor_mod(T a, T b) {
  const T r = trunc_mod(a, b);
  if constexpr (std::is_signed_v<T>) {
    if (r != 0 && (r < 0) != (b < 0)) return static_cast<T>(r + b);
  }
  return r;
}
template <class T>
T shift_left(T a, T count) {
  const bool outside = count < 0 || wide(count) >= sizeof(T) * 8;
  return outside ? T{0} : static_cast<T>(wide(a) << wide(count));
}
template <class T>
T shift_right(T a, T count) {
  const bool outside = count < 0 || wide(count) >= sizeof(T) * 8;
  return static_cast<T>(a >> (outside ? sizeof(T) * 8 - 1 : wide(count)) >>
                        (outside && std::is_unsigned_v<T> ? 1 : 0));
}

template <BinaryOp Op, class T>
constexpr bool binary_defined() {
  using enum BinaryOp;
  constexpr bool is_bool = std::is_same_v<T, bool>;
  constexpr bool is_fp = std::is_floating_point_v<T>;
  if (is_comparison(Op) || Op == Min || Op == Max) return true;
  if (Op == And || Op == Or || Op == Xor) return !is_fp;
  if (is_bool) return false;
  if (Op == Add || Op == Sub || Op == Mul || Op == TruncMod) return true;
  if (Op == Div || Op == Pow) return is_fp;
  return !is_fp;
}

template <BinaryOp Op, class T>
auto binary(T a, T b) {
  using enum BinaryOp;
  constexpr bool is_fp = std::is_floating_point_v<T>;
  if constexpr (Op == Lt)
    return a < b;
  else if constexpr (Op == Le)
    return a <= b;
  else if constexpr (Op == Gt)
    return a > b;
  else if constexpr (Op == Ge)
    return a >= b;
  else if constexpr (Op == Eq)
    return a == b;
  else if constexpr (Op == Ne)
    return a != b;
  else if constexpr (Op == Max)
    return a > b || a != a ? a : b;
  else if constexpr (Op == Min)
    return a < b || a != a ? a : b;
  else if constexpr (Op == And)
    return static_cast<T>(a & b);
  else if constexpr (Op == Or)
    return static_cast<T>(a | b);
  else if constexpr (Op == Xor)
    return static_cast<T>(a ^ b);
  else if constexpr (Op == Add && is_fp)
    return a + b;
  else if constexpr (Op == Sub && is_fp)
    return a - b;
  else if constexpr (Op == Mul && is_fp)
    return a * b;
  else if constexpr (Op == Div)
    return a / b;
  else if constexpr (Op == TruncMod && is_fp)
    return std::fmod(a, b);
  else if constexpr (Op == Add)
    return static_cast<T>(wide(a) + wide(b));
  else if constexpr (Op == Sub)
    return static_cast<T>(wide(a) - wide(b));
  else if constexpr (Op == Mul)
    return static_cast<T>(wide(a) * wide(b));
  else if constexpr (Op == FloorDiv)
    return floor_div(a, b);
  else if constexpr (Op == FloorMod)
    return floor_mod(a, b);
  else if constexpr (Op == TruncDiv)
    return trunc_div(a, b);
  else if constexpr (Op == TruncMod)
    return trunc_mod(a, b);
  else if constexpr (Op == Shl)
    return shift_left(a, b);
  else
    return shift_right(a, b);
}

template <BinaryOp Op>
BinaryLanes binary_of(DType t) {
  return with_dtype(t, [](auto d) -> BinaryLanes {
    using R = Rep<d.value>;
    using T = typename R::Compute;
    if constexpr (!binary_defined<Op, T>()) {
      return nullptr;
    } else if constexpr (Op == BinaryOp::Pow) {
      return [](const ScalarBits* a, const ScalarBits* b, ScalarBits* out, int lanes) {
        for (int i = 0; i < lanes; ++i) {
          const double x = R::get(a[i]), y = R::get(b[i]);
          out[i] = R::put_double(std::pow(x, y));
        }
      };
    } else {
      return [](const ScalarBits* a, const ScalarBits* b, ScalarBits* out, int lanes) {
        for (int i = 0; i < lanes; ++i) {
          const auto v = binary<Op, T>(R::get(a[i]), R::get(b[i]));
          if constexpr (is_comparison(Op)) {
            out[i] = v;
          } else {
            out[i] = R::put(v);
          }
        }
      };
    }
  });
}

constexpr bool is_math(UnaryOp op) { return op >= UnaryOp::Exp; }

template <UnaryOp Op>
double math(double x) {
  using enum UnaryOp;
  if constexpr (Op == Exp)
    return std::exp(x);
  else if constexpr (Op == Log)
    return std::log(x);
  else if constexpr (Op == Tanh)
    return std::tanh(x);
  else if constexpr (Op == Erf)
    return std::erf(x);
  else if constexpr (Op == Sin)
    return std::sin(x);
  else if constexpr (Op == Cos)
    return std::cos(x);
  else if constexpr (Op == Rsqrt)
    return 1 / std::sqrt(x);
  else {
    // exp of a non-positive number, so that small results keep their relative accuracy.
    const double e = std::exp(-std::fabs(x));
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
  }
}

template <UnaryOp Op, class T>
T unary(T a) {
  using enum UnaryOp;
  constexpr bool is_fp = std::is_floating_point_v<T>;
  if constexpr (Op == Neg && is_fp)
    return -a;
  else if constexpr (Op == Neg)
    return static_cast<T>(0 - wide(a));
  else if constexpr (Op == Not && std::is_same_v<T, bool>)
    return !a;
  else if constexpr (Op == Not)
    return static_cast<T>(~a);
  else if constexpr (Op == Abs && is_fp)
    return std::fabs(a);
  else if constexpr (Op == Abs && std::is_signed_v<T>)
    return a < 0 ? static_cast<T>(0 - wide(a)) : a;
  else if constexpr (Op == Abs)
    return a;
  else if constexpr (Op == Sqrt)
    return std::sqrt(a);
  else if constexpr (Op == Floor)
    return std::floor(a);
  else if constexpr (Op == Ceil)
    return std::ceil(a);
  else
    return std::nearbyint(a);
}

template <UnaryOp Op, class T>
constexpr bool unary_defined() {
  if (std::is_same_v<T, bool>) return Op == UnaryOp::Not;
  if (std::is_floating_point_v<T>) return Op != UnaryOp::Not;
  return Op == UnaryOp::Neg || Op == UnaryOp::Not || Op == UnaryOp::Abs;
}

template <UnaryOp Op>
UnaryLanes unary_of(DType t) {
  return with_dtype(t, [](auto d) -> UnaryLanes {
    using R = Rep<d.value>;
    using T = typename R::Compute;
    if constexpr (!unary_defined<Op, T>()) {
      return nullptr;
    } else if constexpr (is_math(Op)) {
      return [](const ScalarBits* a, ScalarBits* out, int lanes) {
        constexpr double kSmallest = std::is_same_v<T, double> ? DBL_MIN : FLT_MIN;
        for (int i = 0; i < lanes; ++i) {
          const double v = math<Op>(R::get(a[i]));
          out[i] = Op == UnaryOp::Exp && static_cast<T>(v) < static_cast<T>(kSmallest)
                       ? ScalarBits{0}
                       : R::put_double(v);
        }
      };
    } else {
      return [](const ScalarBits* a, ScalarBits* out, int lanes) {
        for (int i = 0; i < lanes; ++i) out[i] = R::put(unary<Op, T>(R::get(a[i])));
      };
    }
  });
}

template <class F>
auto with_op(BinaryOp op, F f) {
#define ESP_CASE(O) \
  case BinaryOp::O: return f(std::integral_constant<BinaryOp, BinaryOp::O>{});
  switch (op) {
    ESP_CASE(Add)
    ESP_CASE(Sub)
    ESP_CASE(Mul)
    ESP_CASE(Div)
    ESP_CASE(FloorDiv)
    ESP_CASE(FloorMod)
    ESP_CASE(TruncDiv)
    ESP_CASE(TruncMod)
    ESP_CASE(Min)
    ESP_CASE(Max)
    ESP_CASE(Pow)
    ESP_CASE(And)
    ESP_CASE(Or)
    ESP_CASE(Xor)
    ESP_CASE(Shl)
    ESP_CASE(Shr)
    ESP_CASE(Lt)
    ESP_CASE(Le)
    ESP_CASE(Gt)
    ESP_CASE(Ge)
    ESP_CASE(Eq)
    ESP_CASE(Ne)
  }
#undef ESP_CASE
  ESP_UNREACHABLE("binary op");
}

template <class F>
auto with_op(UnaryOp op, F f) {
#define ESP_CASE(O) \
  case UnaryOp::O: return f(std::integral_constant<UnaryOp, UnaryOp::O>{});
  switch (op) {
    ESP_CASE(Neg)
    ESP_CASE(Not)
    ESP_CASE(Abs)
    ESP_CASE(Sqrt)
    ESP_CASE(Floor)
    ESP_CASE(Ceil)
    ESP_CASE(Round)
    ESP_CASE(Exp)
    ESP_CASE(Log)
    ESP_CASE(Tanh)
    ESP_CASE(Erf)
    ESP_CASE(Sigmoid)
    ESP_CASE(Rsqrt)
    ESP_CASE(Sin)
    ESP_CASE(Cos)
  }
#undef ESP_CASE
  ESP_UNREACHABLE("unary op");
}

}  // namespace

UnaryLanes unary_lanes(UnaryOp op, DType t) {
  return with_op(op, [t](auto o) { return unary_of<o.value>(t); });
}

BinaryLanes binary_lanes(BinaryOp op, DType t) {
  return with_op(op, [t](auto o) { return binary_of<o.value>(t); });
}

FmaLanes fma_lanes(DType t) {
  return with_dtype(t, [](auto d) -> FmaLanes {
    using R = Rep<d.value>;
    if constexpr (!std::is_floating_point_v<typename R::Compute>) {
      return nullptr;
    } else {
      return [](const ScalarBits* a, const ScalarBits* b, const ScalarBits* c, ScalarBits* out,
                int lanes) {
        for (int i = 0; i < lanes; ++i) {
          out[i] = R::put(std::fma(R::get(a[i]), R::get(b[i]), R::get(c[i])));
        }
      };
    }
  });
}

ScalarBits apply(UnaryOp op, DType t, ScalarBits a) {
  const UnaryLanes f = unary_lanes(op, t);
  ESP_CHECK(f != nullptr, name_of(op), " is not defined on ", name_of(t));
  f(&a, &a, 1);
  return a;
}

ScalarBits apply(BinaryOp op, DType t, ScalarBits a, ScalarBits b) {
  const BinaryLanes f = binary_lanes(op, t);
  ESP_CHECK(f != nullptr, name_of(op), " is not defined on ", name_of(t));
  f(&a, &b, &a, 1);
  return a;
}

ScalarBits apply_fma(DType t, ScalarBits a, ScalarBits b, ScalarBits c) {
  const FmaLanes f = fma_lanes(t);
  ESP_CHECK(f != nullptr, "fma is not defined on ", name_of(t));
  f(&a, &b, &c, &a, 1);
  return a;
}

}  // namespace espalier
