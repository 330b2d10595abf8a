// How the scalars of each type are stored and what they compute in; dispatch over types.
#pragma once

#include <bit>
#include <type_traits>

#include "espalier/ir/scalar_ops.h"
#include "espalier/support/check.h"
#include "espalier/support/half.h"

namespace espalier {

// get and put convert between ScalarBits and the type that operations compute in.
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

}  // namespace espalier
