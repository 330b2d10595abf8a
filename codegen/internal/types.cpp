#include "espalier/codegen/internal/types.h"

#include "espalier/support/check.h"

namespace espalier::internal {

llvm::Type* value_type(llvm::LLVMContext& ctx, Type t) {
  const auto scalar = [&]() -> llvm::Type* {
    switch (t.dtype) {
      case DType::F64: return llvm::Type::getDoubleTy(ctx);
      case DType::F32: return llvm::Type::getFloatTy(ctx);
      case DType::F16: return llvm::Type::getHalfTy(ctx);
      case DType::BF16:
      case DType::I16:
      case DType::U16: return llvm::Type::getInt16Ty(ctx);
      case DType::I8:
      case DType::U8: return llvm::Type::getInt8Ty(ctx);
      case DType::I32:
      case DType::U32: return llvm::Type::getInt32Ty(ctx);
      case DType::I64:
      case DType::U64: return llvm::Type::getInt64Ty(ctx);
      case DType::Bool: return llvm::Type::getInt1Ty(ctx);
    }
    ESP_UNREACHABLE("dtype");
  };
  return with_lanes(scalar(), t.lanes);
}

llvm::Type* memory_type(llvm::LLVMContext& ctx, Type t) {
  return value_type(ctx, t.dtype == DType::Bool ? t.with_dtype(DType::U8) : t);
}

llvm::Value* to_memory(Builder& b, Type t, llvm::Value* v) {
  return t.dtype == DType::Bool ? b.CreateZExt(v, memory_type(b.getContext(), t)) : v;
}

llvm::Value* from_memory(Builder& b, Type t, llvm::Value* v) {
  return t.dtype == DType::Bool ? b.CreateICmpNE(v, int_constant(v->getType(), 0)) : v;
}

}  // namespace espalier::internal
