// Conversions between types, and between scalars and memory.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "espalier/ir/internal/scalar_rep.h"

namespace espalier {
namespace {

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

}  // namespace

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
double overflow_threshold(DType t) {
  switch (t) {
    case DType::F64: return std::numeric_limits<double>::infinity();
    case DType::F32: return 0x1.ffffffp127;
    case DType::F16: return 65520;
    case DType::BF16: return 0x1.ffp127;
    default: ESP_UNREACHABLE("overflow_threshold of ", name_of(t));
  }
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
