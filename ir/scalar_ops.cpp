#include "espalier/ir/scalar_ops.h"

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "espalier/support/check.h"
#include "espalier/support/half.h"

namespace espalier {
namespace {

// How a type is stored and what it computes in.
template <DType D>
struct Rep;
template <>
struct Rep<DType::F64> {
  using Compute = double;
  static double get(ScalarBits b) { return std::bit_cast<double>(b); }
  static ScalarBits put(double v) { return std::bit_cast<uint64_t>(v); }
  static ScalarBits put_double(double v) { return put(v); }
};
template <>
struct Rep<DType::F32> {
  using Compute = float;
  static float get(ScalarBits b) { return std::bit_cast<float>(static_cast<uint32_t>(b)); }
  static ScalarBits put(float v) { return std::bit_cast<uint32_t>(v); }
  static ScalarBits put_double(double v) { return put(static_cast<float>(v)); }
};
template <>
struct Rep<DType::F16> {
  using Compute = float;
  static float get(ScalarBits b) { return f16_to_float(static_cast<uint16_t>(b)); }
  static ScalarBits put(float v) { return f16_from_float(v); }
  static ScalarBits put_double(double v) { return f16_from_double(v); }
};
template <>
struct Rep<DType::BF16> {
  using Compute = float;
  static float get(ScalarBits b) { return bf16_to_float(static_cast<uint16_t>(b)); }
  static ScalarBits put(float v) { return bf16_from_float(v); }
  static ScalarBits put_double(double v) { return bf16_from_double(v); }
};
template <class T>
struct IntRep {
  using Compute = T;
  static T get(ScalarBits b) { return static_cast<T>(b); }
  static ScalarBits put(T v) { return static_cast<ScalarBits>(static_cast<int64_t>(v)); }
};
template <>
struct Rep<DType::I8> : IntRep<int8_t> {};
template <>
struct Rep<DType::I16> : IntRep<int16_t> {};
template <>
struct Rep<DType::I32> : IntRep<int32_t> {};
template <>
struct Rep<DType::I64> : IntRep<int64_t> {};
template <>
struct Rep<DType::U8> : IntRep<uint8_t> {};
template <>
struct Rep<DType::U16> : IntRep<uint16_t> {};
template <>
struct Rep<DType::U32> : IntRep<uint32_t> {};
template <>
struct Rep<DType::U64> : IntRep<uint64_t> {};
template <>
struct Rep<DType::Bool> {
  using Compute = bool;
  static bool get(ScalarBits b) { return b != 0; }
  static ScalarBits put(bool v) { return v; }
};

template <class F>
auto with_dtype(DType t, F f) {
#define ESP_CASE(D) \
  case DType::D: return f(std::integral_constant<DType, DType::D>{});
  switch (t) {
    ESP_CASE(F64)
    ESP_CASE(F32)
    ESP_CASE(F16)
    ESP_CASE(BF16)
    ESP_CASE(I8)
    ESP_CASE(I16)
    ESP_CASE(I32)
    ESP_CASE(I64)
    ESP_CASE(U8)
    ESP_CASE(U16)
    ESP_CASE(U32)
    ESP_CASE(U64)
    ESP_CASE(Bool)
  }
#undef ESP_CASE
  ESP_UNREACHABLE("dtype");
}

// Arithmetic modulo 2^64 on widened operands is right for every narrower type too, and avoids the
// signed promotion of u16 * u16.
template <class T>
constexpr uint64_t wide(T v) {
  return static_cast<uint64_t>(static_cast<int64_t>(v));
}

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

// Rounds towards the odd neighbour what f64 cannot hold, so that rounding once more, to a narrower
// type, gives what a single rounding would.
template <class T>
double to_double_odd(T v) {
  if constexpr (sizeof(T) == 8) {
    const T limit = T{1} << 53;
    if (v > limit || (std::is_signed_v<T> && v < static_cast<T>(0 - wide(limit)))) {
      const T kept = static_cast<T>((v >> 11) | ((v & 2047) != 0 ? 1 : 0));
      return static_cast<double>(kept) * 2048;
    }
  }
  return static_cast<double>(v);
}

template <class From, class To>
To saturate(From v) {
  if (v != v) return 0;
  // The smallest value is a power of two (or 0) and exact; so is the largest plus one.
  const From lo = static_cast<From>(std::numeric_limits<To>::min());
  const From past = static_cast<From>(std::ldexp(1.0, std::numeric_limits<To>::digits));
  if (v <= lo) return std::numeric_limits<To>::min();
  if (v >= past) return std::numeric_limits<To>::max();
  return static_cast<To>(v);
}

template <DType FromD, DType ToD>
ScalarBits cast_one(ScalarBits a) {
  using From = Rep<FromD>;
  using To = Rep<ToD>;
  using F = typename From::Compute;
  using T = typename To::Compute;
  constexpr bool from_fp = std::is_floating_point_v<F>, to_fp = std::is_floating_point_v<T>;
  const F v = From::get(a);
  if constexpr (FromD == ToD) {
    return a;
  } else if constexpr (ToD == DType::Bool) {
    return v != 0;
  } else if constexpr (from_fp && to_fp) {
    return To::put_double(v);
  } else if constexpr (from_fp) {
    return To::put(saturate<F, T>(v));
  } else if constexpr (to_fp && sizeof(T) == 4 && ToD != DType::F32) {
    return To::put_double(to_double_odd(v));
  } else if constexpr (to_fp) {
    return To::put(static_cast<T>(v));
  } else {
    return To::put(static_cast<T>(wide(v)));
  }
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

UnaryLanes cast_lanes(DType from, DType to) {
  return with_dtype(from, [to](auto f) {
    return with_dtype(to, [](auto t) -> UnaryLanes {
      return [](const ScalarBits* a, ScalarBits* out, int lanes) {
        for (int i = 0; i < lanes; ++i)
          out[i] = cast_one<decltype(f)::value, decltype(t)::value>(a[i]);
      };
    });
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

ScalarBits apply_cast(DType from, DType to, ScalarBits a) {
  cast_lanes(from, to)(&a, &a, 1);
  return a;
}

ScalarBits apply_reinterpret(DType from, DType to, ScalarBits a) {
  char bytes[8];
  store_scalar(from, bytes, a);
  return load_scalar(to, bytes);
}

ScalarBits bits_from_int(DType t, int64_t value) {
  return apply_cast(DType::I64, t, static_cast<ScalarBits>(value));
}
ScalarBits bits_from_double(DType t, double value) {
  return apply_cast(DType::F64, t, std::bit_cast<ScalarBits>(value));
}
int64_t int_from_bits(DType t, ScalarBits bits) {
  return static_cast<int64_t>(apply_cast(t, DType::I64, bits));
}
double double_from_bits(DType t, ScalarBits bits) {
  return std::bit_cast<double>(apply_cast(t, DType::F64, bits));
}

namespace {
template <class T>
ScalarBits load_as(const void* from) {
  T v;
  std::memcpy(&v, from, sizeof v);
  return static_cast<ScalarBits>(static_cast<int64_t>(v));
}
}  // namespace

ScalarBits load_scalar(DType t, const void* from) {
  switch (t) {
    case DType::F64:
    case DType::I64:
    case DType::U64: return load_as<uint64_t>(from);
    case DType::F32:
    case DType::U32: return load_as<uint32_t>(from);
    case DType::F16:
    case DType::BF16:
    case DType::U16: return load_as<uint16_t>(from);
    case DType::I8: return load_as<int8_t>(from);
    case DType::I16: return load_as<int16_t>(from);
    case DType::I32: return load_as<int32_t>(from);
    case DType::U8: return load_as<uint8_t>(from);
    case DType::Bool: return load_as<uint8_t>(from) != 0;
  }
  ESP_UNREACHABLE("dtype");
}

void store_scalar(DType t, void* to, ScalarBits bits) {
  // The low bytes are the value in every type; written out by size, so as not to depend on the
  // byte order.
  switch (bytes_of(t)) {
    case 1: {
      const uint8_t v = static_cast<uint8_t>(bits);
      std::memcpy(to, &v, sizeof v);
      return;
    }
    case 2: {
      const uint16_t v = static_cast<uint16_t>(bits);
      std::memcpy(to, &v, sizeof v);
      return;
    }
    case 4: {
      const uint32_t v = static_cast<uint32_t>(bits);
      std::memcpy(to, &v, sizeof v);
      return;
    }
    default: std::memcpy(to, &bits, sizeof bits);
  }
}

}  // namespace espalier
