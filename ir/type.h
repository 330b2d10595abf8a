// Scalar and vector types of data and indices.
//
// Meaning, the same in the evaluator, the interpreter and generated code:
//  * integers wrap; division and modulo are total: x/0 = 0, x mod 0 = 0, min/-1 = min;
//  * floating point is IEEE 754, round to nearest even, subnormals kept;
//  * min and max return NaN when either side is NaN: max(a,b) is `a > b or a != a ? a : b`;
//  * float -> int casts saturate and take NaN to 0; float -> narrower float rounds once;
//  * round is half-to-even; bool is 0 or 1 and casting NaN to bool gives true.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace espalier {

enum class DType : uint8_t { F64, F32, F16, BF16, I8, I16, I32, I64, U8, U16, U32, U64, Bool };

// Text names: f64 f32 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool.
std::string_view name_of(DType t);
std::optional<DType> dtype_from_name(std::string_view name);

int bytes_of(DType t);  // storage size of one element; bool takes one byte
int bits_of(DType t);   // bool: 1
bool is_float(DType t);
bool is_signed_int(DType t);
bool is_unsigned_int(DType t);
inline bool is_int(DType t) { return is_signed_int(t) || is_unsigned_int(t); }
// Unit roundoff of a floating type: 2^-53, 2^-24, 2^-11, 2^-8.
double unit_roundoff(DType t);
// The ends of an integer type (u64's upper end does not fit and is returned as its bit pattern).
int64_t int_min(DType t);
int64_t int_max(DType t);

// A scalar type with a number of lanes; lanes == 1 is a scalar.
struct Type {
  DType dtype = DType::F32;
  int lanes = 1;

  constexpr Type() = default;
  constexpr Type(DType d, int l = 1) : dtype(d), lanes(l) {}
  bool is_vector() const { return lanes > 1; }
  Type with_lanes(int l) const { return {dtype, l}; }
  Type with_dtype(DType d) const { return {d, lanes}; }
  friend bool operator==(const Type&, const Type&) = default;
};
std::string to_string(Type t);  // "f32", "f32x8"

inline constexpr Type kIndex{DType::I64};  // type of every index expression
inline constexpr Type kBool{DType::Bool};

}  // namespace espalier
