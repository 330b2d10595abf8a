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

}  // namespace

bool is_half(DType t) { return t == DType::F16 || t == DType::BF16; }

llvm::Value* widen_half(Builder& b, Type t, llvm::Value* v) {
  if (t.dtype == DType::F16) return b.CreateFPExt(v, f32_type(b, t.lanes));
  if (t.dtype != DType::BF16) return v;
  llvm::Type* i32 = i32_type(b, t.lanes);
  return b.CreateBitCast(b.CreateShl(b.CreateZExt(v, i32), int_constant(i32, 16)),
                         f32_type(b, t.lanes));
}

llvm::Value* narrow_to_half(Builder& b, Type t, llvm::Value* f32) {
  if (t.dtype == DType::F16) return b.CreateFPTrunc(f32, value_type(b.getContext(), t));
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
