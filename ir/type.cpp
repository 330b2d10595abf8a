#include "espalier/ir/type.h"

#include <array>

#include "espalier/support/check.h"

namespace espalier {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  int bytes;
};
constexpr std::array<Row, 13> kRows = {{{DType::F64, "f64", 8},
                                        {DType::F32, "f32", 4},
                                        {DType::F16, "f16", 2},
                                        {DType::BF16, "bf16", 2},
                                        {DType::I8, "i8", 1},
                                        {DType::I16, "i16", 2},
                                        {DType::I32, "i32", 4},
                                        {DType::I64, "i64", 8},
                                        {DType::U8, "u8", 1},
                                        {DType::U16, "u16", 2},
                                        {DType::U32, "u32", 4},
                                        {DType::U64, "u64", 8},
                                        {DType::Bool, "bool", 1}}};
const Row& row(DType t) { return kRows[static_cast<size_t>(t)]; }

}  // namespace

std::string_view name_of(DType t) { return row(t).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const Row& r : kRows) {
    if (r.name == name) return r.dtype;
  }
  return std::nullopt;
}

int bytes_of(DType t) { return row(t).bytes; }
int bits_of(DType t) { return t == DType::Bool ? 1 : 8 * row(t).bytes; }
bool is_float(DType t) { return t <= DType::BF16; }
bool is_signed_int(DType t) { return t >= DType::I8 && t <= DType::I64; }
bool is_unsigned_int(DType t) { return t >= DType::U8 && t <= DType::U64; }

double unit_roundoff(DType t) {
  switch (t) {
    case DType::F64: return 0x1p-53;
    case DType::F32: return 0x1p-24;
    case DType::F16: return 0x1p-11;
    case DType::BF16: return 0x1p-8;
    default: ESP_UNREACHABLE("unit_roundoff of ", name_of(t));
  }
}

int64_t int_min(DType t) {
  ESP_CHECK(!is_float(t));
  return is_signed_int(t) ? INT64_MIN >> (64 - bits_of(t)) : 0;
}

int64_t int_max(DType t) {
  ESP_CHECK(!is_float(t));
  if (t == DType::U64) return -1;
  return is_signed_int(t) ? INT64_MAX >> (64 - bits_of(t))
                          : static_cast<int64_t>((uint64_t{1} << bits_of(t)) - 1);
}

std::string to_string(Type t) {
  std::string text(name_of(t.dtype));
  if (t.is_vector()) text += "x" + std::to_string(t.lanes);
  return text;
}

}  // namespace espalier
