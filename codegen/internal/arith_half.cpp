// The 16-bit floating-point formats. Conversions of bf16 are integer arithmetic: the machine's own
// instructions flush subnormals.
#include "espalier/codegen/internal/arith.h"
#include "espalier/support/check.h"

namespace espalier::internal {
namespace {

llvm::Type* f32_type(Builder& b, int lanes) {
  return value_type(b.getContext(), Type(DType::F32, lanes));
}
llvm::Type* i32_type(Builder& b, int lanes) {
  return value_type(b.getContext(), Type(DType::I32, lanes));
}

llvm::Value* bf16_from_f32(Builder& b, int lanes, llvm::Value* v) {
  llvm::Type* i32 = i32_type(b, lanes);
  llvm::Value* bits = b.CreateBitCast(v, i32);
  llvm::Value* upper = b.CreateLShr(bits, int_constant(i32, 16));
  llvm::Value* tie_to_even =
      b.CreateAdd(int_constant(i32, 0x7fff), b.CreateAnd(upper, int_constant(i32, 1)));
  llvm::Value* rounded = b.CreateLShr(b.CreateAdd(bits, tie_to_even), int_constant(i32, 16));
  // Rounding could carry a NaN over into the sign; it keeps its upper bits instead.
  llvm::Value* nan = b.CreateOr(upper, int_constant(i32, 0x40));
  llvm::Value* result = b.CreateSelect(b.CreateFCmpUNO(v, v), nan, rounded);
  return b.CreateTrunc(result, value_type(b.getContext(), Type(DType::BF16, lanes)));
}

llvm::Value* f16_to_f32(Builder& b, int lanes, llvm::Value* v) {
  llvm::Type *i32 = i32_type(b, lanes), *f32 = f32_type(b, lanes);
  const auto k = [&](int64_t value) { return int_constant(i32, value); };
  llvm::Value* bits = b.CreateBitCast(v, value_type(b.getContext(), Type(DType::U16, lanes)));
  bits = b.CreateZExt(bits, i32);
  llvm::Value* magnitude = b.CreateAnd(bits, k(0x7fff));
  llvm::Value* sign = b.CreateShl(b.CreateAnd(bits, k(0x8000)), k(16));
  // The exponent's bias grows from 15 to 127, for infinity and NaN its value from 31 to 255.
  llvm::Value* normal = b.CreateAdd(b.CreateShl(magnitude, k(13)), k(0x38000000));
  llvm::Value* special = b.CreateICmpUGE(magnitude, k(0x7c00));
  normal = b.CreateSelect(special, b.CreateAdd(normal, k(0x38000000)), normal);
  llvm::Value* steps = b.CreateUIToFP(magnitude, f32);
  llvm::Value* subnormal =
      b.CreateBitCast(b.CreateFMul(steps, llvm::ConstantFP::get(f32, 0x1p-24)), i32);
  llvm::Value* is_subnormal = b.CreateICmpULT(magnitude, k(0x400));
  return b.CreateBitCast(b.CreateOr(b.CreateSelect(is_subnormal, subnormal, normal), sign), f32);
}

llvm::Value* f16_from_f32(Builder& b, int lanes, llvm::Value* v) {
  llvm::Type *i32 = i32_type(b, lanes), *f32 = f32_type(b, lanes);
  const auto k = [&](int64_t value) { return int_constant(i32, value); };
  llvm::Value* bits = b.CreateBitCast(v, i32);
  llvm::Value* magnitude = b.CreateAnd(bits, k(0x7fffffff));
  llvm::Value* sign = b.CreateAnd(b.CreateLShr(bits, k(16)), k(0x8000));
  llvm::Value* tie_to_even = b.CreateAnd(b.CreateLShr(magnitude, k(13)), k(1));
  llvm::Value* normal = b.CreateAdd(magnitude, b.CreateAdd(tie_to_even, k(0xfff - 0x38000000)));
  normal = b.CreateLShr(normal, k(13));
  // Added to 0.5, whose last place is 2^-24, a small number is rounded to a multiple of that.
  llvm::Value* sum = b.CreateFAdd(b.CreateBitCast(magnitude, f32), llvm::ConstantFP::get(f32, 0.5));
  llvm::Value* subnormal = b.CreateSub(b.CreateBitCast(sum, i32), k(0x3f000000));
  llvm::Value* result =
      b.CreateSelect(b.CreateICmpULT(magnitude, k(0x38800000)), subnormal, normal);
  result = b.CreateSelect(b.CreateICmpUGE(magnitude, k(0x477ff000)), k(0x7c00), result);
  result = b.CreateSelect(b.CreateICmpUGT(magnitude, k(0x7f800000)), k(0x7e00), result);
  result =
      b.CreateTrunc(b.CreateOr(result, sign), value_type(b.getContext(), Type(DType::U16, lanes)));
  return b.CreateBitCast(result, value_type(b.getContext(), Type(DType::F16, lanes)));
}

}  // namespace

bool is_half(DType t) { return t == DType::F16 || t == DType::BF16; }

llvm::Value* widen_half(Builder& b, Type t, llvm::Value* v) {
  if (t.dtype == DType::F16) {
    return b.has_f16_conversions ? b.CreateFPExt(v, f32_type(b, t.lanes))
                                 : f16_to_f32(b, t.lanes, v);
  }
  if (t.dtype != DType::BF16) return v;
  llvm::Type* i32 = i32_type(b, t.lanes);
  return b.CreateBitCast(b.CreateShl(b.CreateZExt(v, i32), int_constant(i32, 16)),
                         f32_type(b, t.lanes));
}

llvm::Value* narrow_to_half(Builder& b, Type t, llvm::Value* f32) {
  if (t.dtype == DType::F16) {
    return b.has_f16_conversions ? b.CreateFPTrunc(f32, value_type(b.getContext(), t))
                                 : f16_from_f32(b, t.lanes, f32);
  }
  ESP_CHECK(t.dtype == DType::BF16);
  return bf16_from_f32(b, t.lanes, f32);
}

llvm::Value* round_to_odd_f32(Builder& b, int lanes, llvm::Value* f64) {
  llvm::Type* i32 = i32_type(b, lanes);
  llvm::Value* nearest = b.CreateFPTrunc(f64, f32_type(b, lanes));
  llvm::Value* back = b.CreateFPExt(nearest, f64->getType());
  llvm::Value* bits = b.CreateBitCast(nearest, i32);
  // Towards zero first, then the last bit set; NaN compares as exact.
  const auto magnitude = [&](llvm::Value* v) {
    return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v);
  };
  llvm::Value* away = b.CreateFCmpOGT(magnitude(back), magnitude(f64));
  llvm::Value* truncated = b.CreateSelect(away, b.CreateSub(bits, int_constant(i32, 1)), bits);
  llvm::Value* odd = b.CreateOr(truncated, int_constant(i32, 1));
  llvm::Value* result = b.CreateSelect(b.CreateFCmpONE(back, f64), odd, bits);
  return b.CreateBitCast(result, f32_type(b, lanes));
}

}  // namespace espalier::internal
