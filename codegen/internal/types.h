// How types of the IR look in LLVM.
//
// As values: f16 is half, bf16 its bits as i16, bool i1. In memory bool is i8. Signedness lies in
// the operations.
#pragma once

#include "espalier/ir/type.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IRBuilder.h"

namespace espalier::internal {

// An instruction builder that knows what the machine has.
class Builder : public llvm::IRBuilder<> {
 public:
  using llvm::IRBuilder<>::IRBuilder;
  bool has_f16_conversions = true;  // else they are integer arithmetic
  unsigned x86_vector_bits = 0;     // of its widest vectors; another architecture: 0
};

llvm::Type* value_type(llvm::LLVMContext& ctx, Type t);
llvm::Type* memory_type(llvm::LLVMContext& ctx, Type t);

// Between the two forms of a value.
llvm::Value* to_memory(Builder& b, Type t, llvm::Value* v);
llvm::Value* from_memory(Builder& b, Type t, llvm::Value* v);

// `scalar` with `lanes` lanes (1: itself).
inline llvm::Type* with_lanes(llvm::Type* scalar, int lanes) {
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes));
}
inline llvm::Value* splat(Builder& b, llvm::Value* v, int lanes) {
  return lanes == 1 ? v : b.CreateVectorSplat(static_cast<unsigned>(lanes), v);
}
// A constant of an integer type, in all lanes.
inline llvm::Constant* int_constant(llvm::Type* t, int64_t v) {
  return llvm::ConstantInt::get(t, static_cast<uint64_t>(v), true);
}

}  // namespace espalier::internal
