// Integer division without traps: x/0 = 0, x mod 0 = 0, min/-1 = min.
#include "espalier/codegen/internal/arith.h"

#include "espalier/support/check.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/PatternMatch.h"

namespace espalier::internal {
namespace {

struct QuotientRemainder {
  llvm::Value *quotient, *remainder;
};

// Truncating division; `y` is neither 0 nor, on signed types, -1 in any lane. Vectors of up to 32
// bits divide in floating point: no machine divides vectors of integers, and with enough more bits
// than the operands have, the rounded quotient truncates to the exact one.
QuotientRemainder divide(Builder& b, Type t, llvm::Value* x, llvm::Value* y) {
  const bool sgn = is_signed_int(t.dtype);
  if (t.lanes > 1 && bits_of(t.dtype) <= 32 && !llvm::isa<llvm::Constant>(y)) {
    const DType f = bits_of(t.dtype) <= 16 ? DType::F32 : DType::F64;
    llvm::Type* fp = value_type(b.getContext(), Type(f, t.lanes));
    const auto up = [&](llvm::Value* v) {
      return sgn ? b.CreateSIToFP(v, fp) : b.CreateUIToFP(v, fp);
    };
    llvm::Value* q = b.CreateFDiv(up(x), up(y));
    q = sgn ? b.CreateFPToSI(q, x->getType()) : b.CreateFPToUI(q, x->getType());
    return {q, b.CreateSub(x, b.CreateMul(q, y))};
  }
  llvm::Value* q = sgn ? b.CreateSDiv(x, y) : b.CreateUDiv(x, y);
  return {q, sgn ? b.CreateSRem(x, y) : b.CreateURem(x, y)};
}

// The divisor, when it is the same constant in all lanes.
const llvm::APInt* constant_divisor(llvm::Value* y) {
  const llvm::APInt* c;
  return llvm::PatternMatch::match(y, llvm::PatternMatch::m_APInt(c)) ? c : nullptr;
}

}  // namespace

llvm::Value* emit_int_division(Builder& b, BinaryOp op, Type t, llvm::Value* x, llvm::Value* y) {
  const bool sgn = is_signed_int(t.dtype);
  const bool floors = sgn && (op == BinaryOp::FloorDiv || op == BinaryOp::FloorMod);
  const bool wants_quotient = op == BinaryOp::FloorDiv || op == BinaryOp::TruncDiv;
  llvm::Type* type = x->getType();
  llvm::Value* zero = int_constant(type, 0);
  const llvm::APInt* c = constant_divisor(y);
  if (c != nullptr && c->isZero()) return zero;
  if (c != nullptr && sgn && c->isAllOnes()) return wants_quotient ? b.CreateNeg(x) : zero;
  if (c != nullptr && c->isPowerOf2() && (sgn ? floors && !c->isNegative() : true)) {
    return wants_quotient ? (sgn ? b.CreateAShr(x, int_constant(type, c->logBase2()))
                                 : b.CreateLShr(x, int_constant(type, c->logBase2())))
                          : b.CreateAnd(x, llvm::ConstantInt::get(type, *c - 1));
  }

  llvm::Value* is_zero = c != nullptr ? nullptr : b.CreateICmpEQ(y, zero);
  llvm::Value* is_minus_one =
      c != nullptr || !sgn ? nullptr : b.CreateICmpEQ(y, int_constant(type, -1));
  llvm::Value* safe = y;
  if (is_zero != nullptr) {
    llvm::Value* unsafe = is_minus_one != nullptr ? b.CreateOr(is_zero, is_minus_one) : is_zero;
    safe = b.CreateSelect(unsafe, int_constant(type, 1), y);
  }
  auto [q, r] = divide(b, t, x, safe);
  if (floors) {
    // The truncated quotient is one too large when there is a remainder of the other sign.
    llvm::Value* off =
        b.CreateAnd(b.CreateICmpNE(r, zero), b.CreateICmpSLT(b.CreateXor(r, safe), zero));
    q = b.CreateSelect(off, b.CreateSub(q, int_constant(type, 1)), q);
    r = b.CreateSelect(off, b.CreateAdd(r, safe), r);
  }
  llvm::Value* result = wants_quotient ? q : r;
  if (is_minus_one != nullptr && wants_quotient) {
    result = b.CreateSelect(is_minus_one, b.CreateNeg(x), result);
  }
  // A divisor replaced by 1 has the remainder 0 already.
  if (is_zero != nullptr && wants_quotient) result = b.CreateSelect(is_zero, zero, result);
  return result;
}

}  // namespace espalier::internal
