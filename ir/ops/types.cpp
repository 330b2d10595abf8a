#include "espalier/ir/ops/types.h"

namespace espalier::ops {
namespace {

DType default_accumulator(DType type, bool divides) {
  if (!is_int(type)) return compute_type(type);
  if (bits_of(type) == 64) return type;
  return divides && bits_of(type) == 32 ? DType::I64 : DType::I32;
}

}  // namespace

KeyDef accumulator_key() {
  KeyDef key;
  key.name = "acc";
  key.kind = ValueKind::Type;
  return key;
}

DType compute_type(DType type) {
  return type == DType::F16 || type == DType::BF16 ? DType::F32 : type;
}

Result<DType> accumulator_type(const Args& args, bool divides) {
  const DType type = args.dtype();
  if (type == DType::Bool) {
    return args.error("'dtype=bool': it adds up numbers; use an integer type");
  }
  if (!args.has("acc")) return default_accumulator(type, divides);
  const DType acc = *dtype_from_name(args.word("acc"));
  const bool alike = is_float(type) ? is_float(acc) : is_int(acc);
  if (!alike || bits_of(acc) < bits_of(type)) {
    return args.error("'acc=", name_of(acc), "': the accumulator for dtype=", name_of(type),
                      " must be ", is_float(type) ? "a floating-point" : "an integer",
                      " type of at least ", bits_of(type), " bits");
  }
  return acc;
}

Result<DType> float_accumulator_type(const Args& args) {
  if (!is_float(args.dtype())) {
    return args.error("'dtype=", args.word("dtype"),
                      "': it works on floating-point types: f64 f32 f16 bf16");
  }
  return accumulator_type(args);
}

Expr widened(DType type, Expr value) {
  return value.type().dtype == type ? value : cast(type, std::move(value));
}

}  // namespace espalier::ops
