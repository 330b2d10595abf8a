// Operations on values as ir/type.h means them, bit for bit what ir/scalar_ops.h computes.
#pragma once

#include "espalier/codegen/internal/types.h"
#include "espalier/ir/expr.h"

namespace espalier::internal {

// `t` is the type of the operands. Math functions must have been expanded.
llvm::Value* emit_unary(Builder& b, UnaryOp op, Type t, llvm::Value* a);
llvm::Value* emit_binary(Builder& b, BinaryOp op, Type t, llvm::Value* x, llvm::Value* y);
llvm::Value* emit_fma(Builder& b, Type t, llvm::Value* x, llvm::Value* y, llvm::Value* z);
llvm::Value* emit_cast(Builder& b, Type from, Type to, llvm::Value* v);
// The halves combined until one lane is left.
llvm::Value* emit_lane_reduce(Builder& b, BinaryOp op, Type t, llvm::Value* v);

// Division and modulo of integers, total (arith_int.cpp).
llvm::Value* emit_int_division(Builder& b, BinaryOp op, Type t, llvm::Value* x, llvm::Value* y);

// f16 and bf16 to f32 and back (arith_half.cpp); other types pass through unchanged.
bool is_half(DType t);
llvm::Value* widen_half(Builder& b, Type t, llvm::Value* v);
llvm::Value* narrow_to_half(Builder& b, Type t, llvm::Value* f32);
// f64 to f32 in such a way that rounding once more to f16 or bf16 gives the nearest: an inexact
// result gets an odd last bit.
llvm::Value* round_to_odd_f32(Builder& b, int lanes, llvm::Value* f64);

}  // namespace espalier::internal
