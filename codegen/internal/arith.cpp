#include "espalier/codegen/internal/arith.h"

#include <numeric>

#include "espalier/support/check.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

namespace espalier::internal {
namespace {

using llvm::Intrinsic::ID;

llvm::Value* float_unary(Builder& b, UnaryOp op, llvm::Value* a) {
  const auto call = [&](ID id) { return b.CreateUnaryIntrinsic(id, a); };
  switch (op) {
    case UnaryOp::Neg: return b.CreateFNeg(a);
    case UnaryOp::Abs: return call(llvm::Intrinsic::fabs);
    case UnaryOp::Sqrt: return call(llvm::Intrinsic::sqrt);
    case UnaryOp::Floor: return call(llvm::Intrinsic::floor);
    case UnaryOp::Ceil: return call(llvm::Intrinsic::ceil);
    case UnaryOp::Round: return call(llvm::Intrinsic::roundeven);
    default: ESP_UNREACHABLE(name_of(op), " reached code generation");
  }
}

// The remainder by the run-time function, lane by lane. Exact in f64 for the narrower types too.
llvm::Value* float_mod(Builder& b, int lanes, llvm::Value* x, llvm::Value* y) {
  llvm::Type* type = x->getType();
  llvm::Type* f64 = b.getDoubleTy();
  llvm::Module* module = b.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee = module->getOrInsertFunction("espalier_fmod", f64, f64, f64);
  if (auto* f = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    f->setDoesNotThrow();
    f->setDoesNotAccessMemory();
    f->setWillReturn();
  }
  if (lanes == 1) {
    llvm::Value* r = b.CreateCall(callee, {b.CreateFPExt(x, f64), b.CreateFPExt(y, f64)});
    return b.CreateFPTrunc(r, type);
  }
  llvm::Value* result = llvm::PoisonValue::get(type);
  for (int l = 0; l < lanes; ++l) {
    const auto at = static_cast<uint64_t>(l);
    llvm::Value* r = float_mod(b, 1, b.CreateExtractElement(x, at), b.CreateExtractElement(y, at));
    result = b.CreateInsertElement(result, r, at);
  }
  return result;
}

// The instruction of x86 that computes a > b ? a : b on vectors of this type; not_intrinsic: none.
ID extremum_of_x86(BinaryOp op, llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (vector == nullptr) return llvm::Intrinsic::not_intrinsic;
  const bool max = op == BinaryOp::Max, f32 = vector->getElementType()->isFloatTy();
  if (!f32 && !vector->getElementType()->isDoubleTy()) return llvm::Intrinsic::not_intrinsic;
  switch (vector->getNumElements() * (f32 ? 32 : 64)) {
    case 128:
      return f32 ? (max ? llvm::Intrinsic::x86_sse_max_ps : llvm::Intrinsic::x86_sse_min_ps)
                 : (max ? llvm::Intrinsic::x86_sse2_max_pd : llvm::Intrinsic::x86_sse2_min_pd);
    case 256:
      return f32 ? (max ? llvm::Intrinsic::x86_avx_max_ps_256 : llvm::Intrinsic::x86_avx_min_ps_256)
                 : (max ? llvm::Intrinsic::x86_avx_max_pd_256
                        : llvm::Intrinsic::x86_avx_min_pd_256);
    case 512:
      return f32 ? (max ? llvm::Intrinsic::x86_avx512_max_ps_512
                        : llvm::Intrinsic::x86_avx512_min_ps_512)
                 : (max ? llvm::Intrinsic::x86_avx512_max_pd_512
                        : llvm::Intrinsic::x86_avx512_min_pd_512);
    default: return llvm::Intrinsic::not_intrinsic;
  }
}

// max(a,b) = a > b or a != a ? a : b. With the selects of this formula LLVM 19's instcombine merges
// both comparisons, and for a = |x| it then asks x for its sign; so the comparison of numbers is an
// instruction that it does not look into, or the outer one of the selects.
llvm::Value* float_extremum(Builder& b, BinaryOp op, llvm::Value* x, llvm::Value* y) {
  llvm::Value* is_number = b.CreateFCmpORD(x, x);
  const ID id = extremum_of_x86(op, x->getType());
  const auto bits = static_cast<unsigned>(x->getType()->getPrimitiveSizeInBits());
  if (id != llvm::Intrinsic::not_intrinsic && bits <= b.x86_vector_bits) {
    llvm::SmallVector<llvm::Value*, 3> operands = {x, y};
    constexpr int kCurrentRounding = 4;
    if (bits == 512) operands.push_back(b.getInt32(kCurrentRounding));
    return b.CreateSelect(is_number, b.CreateIntrinsic(id, {}, operands), x);
  }
  llvm::Value* other = b.CreateSelect(is_number, y, x);
  llvm::Value* wins = op == BinaryOp::Max ? b.CreateFCmpOGT(x, y) : b.CreateFCmpOLT(x, y);
  return b.CreateSelect(wins, x, other);
}

llvm::Value* float_binary(Builder& b, BinaryOp op, int lanes, llvm::Value* x, llvm::Value* y) {
  switch (op) {
    case BinaryOp::Add: return b.CreateFAdd(x, y);
    case BinaryOp::Sub: return b.CreateFSub(x, y);
    case BinaryOp::Mul: return b.CreateFMul(x, y);
    case BinaryOp::Div: return b.CreateFDiv(x, y);
    case BinaryOp::TruncMod: return float_mod(b, lanes, x, y);
    case BinaryOp::Min:
    case BinaryOp::Max: return float_extremum(b, op, x, y);
    case BinaryOp::Lt: return b.CreateFCmpOLT(x, y);
    case BinaryOp::Le: return b.CreateFCmpOLE(x, y);
    case BinaryOp::Gt: return b.CreateFCmpOGT(x, y);
    case BinaryOp::Ge: return b.CreateFCmpOGE(x, y);
    case BinaryOp::Eq: return b.CreateFCmpOEQ(x, y);
    case BinaryOp::Ne: return b.CreateFCmpUNE(x, y);
    default: ESP_UNREACHABLE(name_of(op), " on floating point reached code generation");
  }
}

// A count outside [0, bits) shifts everything out. Counts are compared without sign, so that
// negative ones lie outside too.
llvm::Value* shift(Builder& b, BinaryOp op, Type t, llvm::Value* x, llvm::Value* count) {
  const int bits = bits_of(t.dtype);
  llvm::Value* inside = b.CreateICmpULT(count, int_constant(count->getType(), bits));
  llvm::Value* zero = int_constant(count->getType(), 0);
  if (op == BinaryOp::Shl) {
    return b.CreateSelect(inside, b.CreateShl(x, b.CreateSelect(inside, count, zero)), zero);
  }
  if (is_unsigned_int(t.dtype)) {
    return b.CreateSelect(inside, b.CreateLShr(x, b.CreateSelect(inside, count, zero)), zero);
  }
  return b.CreateAShr(x, b.CreateSelect(inside, count, int_constant(count->getType(), bits - 1)));
}

llvm::Value* int_binary(Builder& b, BinaryOp op, Type t, llvm::Value* x, llvm::Value* y) {
  const bool sgn = is_signed_int(t.dtype);
  switch (op) {
    case BinaryOp::Add: return b.CreateAdd(x, y);
    case BinaryOp::Sub: return b.CreateSub(x, y);
    case BinaryOp::Mul: return b.CreateMul(x, y);
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod:
    case BinaryOp::TruncDiv:
    case BinaryOp::TruncMod: return emit_int_division(b, op, t, x, y);
    case BinaryOp::Min:
      return b.CreateBinaryIntrinsic(sgn ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x, y);
    case BinaryOp::Max:
      return b.CreateBinaryIntrinsic(sgn ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x, y);
    case BinaryOp::And: return b.CreateAnd(x, y);
    case BinaryOp::Or: return b.CreateOr(x, y);
    case BinaryOp::Xor: return b.CreateXor(x, y);
    case BinaryOp::Shl:
    case BinaryOp::Shr: return shift(b, op, t, x, y);
    case BinaryOp::Lt: return sgn ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y);
    case BinaryOp::Le: return sgn ? b.CreateICmpSLE(x, y) : b.CreateICmpULE(x, y);
    case BinaryOp::Gt: return sgn ? b.CreateICmpSGT(x, y) : b.CreateICmpUGT(x, y);
    case BinaryOp::Ge: return sgn ? b.CreateICmpSGE(x, y) : b.CreateICmpUGE(x, y);
    case BinaryOp::Eq: return b.CreateICmpEQ(x, y);
    case BinaryOp::Ne: return b.CreateICmpNE(x, y);
    case BinaryOp::Div:
    case BinaryOp::Pow: break;
  }
  ESP_UNREACHABLE(name_of(op), " on integers reached code generation");
}

llvm::Value* float_to_int(Builder& b, Type to, llvm::Value* v) {
  const ID id = is_signed_int(to.dtype) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return b.CreateIntrinsic(id, {value_type(b.getContext(), to), v->getType()}, {v});
}

// The integer as f64, rounded to odd beyond 53 bits, so that one more rounding to f16 or bf16 gives
// the nearest.
llvm::Value* int_to_f64_odd(Builder& b, Type from, llvm::Value* v) {
  llvm::Type* f64 = value_type(b.getContext(), Type(DType::F64, from.lanes));
  const bool sgn = is_signed_int(from.dtype);
  if (bits_of(from.dtype) == 64) {
    llvm::Type* t = v->getType();
    const int64_t limit = int64_t{1} << 53;
    llvm::Value* large = b.CreateICmpUGT(v, int_constant(t, limit));
    if (sgn) {
      large = b.CreateOr(b.CreateICmpSGT(v, int_constant(t, limit)),
                         b.CreateICmpSLT(v, int_constant(t, -limit)));
    }
    llvm::Value* lost = b.CreateAnd(v, int_constant(t, 2047));
    llvm::Value* sticky = b.CreateSelect(b.CreateICmpNE(lost, int_constant(t, 0)),
                                         int_constant(t, 2048), int_constant(t, 0));
    llvm::Value* odd = b.CreateOr(b.CreateAnd(v, int_constant(t, ~int64_t{2047})), sticky);
    v = b.CreateSelect(large, odd, v);
  }
  return sgn ? b.CreateSIToFP(v, f64) : b.CreateUIToFP(v, f64);
}

llvm::Value* to_float(Builder& b, Type from, Type to, llvm::Value* v) {
  llvm::LLVMContext& ctx = b.getContext();
  const Type f32(DType::F32, from.lanes);
  if (is_half(to.dtype)) {
    if (from.dtype == DType::F32 || is_half(from.dtype)) {
      return narrow_to_half(b, to, widen_half(b, from, v));
    }
    if (from.dtype == DType::F64) {
      return narrow_to_half(b, to, round_to_odd_f32(b, from.lanes, v));
    }
    if (bits_of(from.dtype) <= 16) {
      return narrow_to_half(b, to, to_float(b, from, f32, v));
    }
    return narrow_to_half(b, to, round_to_odd_f32(b, from.lanes, int_to_f64_odd(b, from, v)));
  }
  llvm::Type* type = value_type(ctx, to);
  if (is_half(from.dtype)) {
    v = widen_half(b, from, v);
    return to.dtype == DType::F64 ? b.CreateFPExt(v, type) : v;
  }
  if (is_float(from.dtype)) {
    return to.dtype == DType::F64 ? b.CreateFPExt(v, type) : b.CreateFPTrunc(v, type);
  }
  return is_signed_int(from.dtype) ? b.CreateSIToFP(v, type) : b.CreateUIToFP(v, type);
}

}  // namespace

llvm::Value* emit_unary(Builder& b, UnaryOp op, Type t, llvm::Value* a) {
  if (t.dtype == DType::BF16 && (op == UnaryOp::Neg || op == UnaryOp::Abs)) {
    return op == UnaryOp::Neg ? b.CreateXor(a, int_constant(a->getType(), 0x8000))
                              : b.CreateAnd(a, int_constant(a->getType(), 0x7fff));
  }
  if (is_half(t.dtype) && op != UnaryOp::Neg && op != UnaryOp::Abs) {
    return narrow_to_half(b, t, float_unary(b, op, widen_half(b, t, a)));
  }
  if (is_float(t.dtype)) return float_unary(b, op, a);
  switch (op) {
    case UnaryOp::Neg: return b.CreateNeg(a);
    case UnaryOp::Not: return b.CreateNot(a);
    case UnaryOp::Abs:
      return is_signed_int(t.dtype) ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b.getFalse())
                                    : a;
    default: ESP_UNREACHABLE(name_of(op), " on integers reached code generation");
  }
}

llvm::Value* emit_binary(Builder& b, BinaryOp op, Type t, llvm::Value* x, llvm::Value* y) {
  if (is_half(t.dtype)) {
    llvm::Value* r = float_binary(b, op, t.lanes, widen_half(b, t, x), widen_half(b, t, y));
    return is_comparison(op) ? r : narrow_to_half(b, t, r);
  }
  if (is_float(t.dtype)) return float_binary(b, op, t.lanes, x, y);
  return int_binary(b, op, t, x, y);
}

llvm::Value* emit_fma(Builder& b, Type t, llvm::Value* x, llvm::Value* y, llvm::Value* z) {
  x = widen_half(b, t, x);
  y = widen_half(b, t, y);
  z = widen_half(b, t, z);
  llvm::Value* r = b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
  return is_half(t.dtype) ? narrow_to_half(b, t, r) : r;
}

llvm::Value* emit_cast(Builder& b, Type from, Type to, llvm::Value* v) {
  if (from.dtype == to.dtype) return v;
  if (to.dtype == DType::Bool) {
    v = widen_half(b, from, v);
    if (is_float(from.dtype)) return b.CreateFCmpUNE(v, llvm::Constant::getNullValue(v->getType()));
    return b.CreateICmpNE(v, int_constant(v->getType(), 0));
  }
  if (is_float(to.dtype)) return to_float(b, from, to, v);
  if (is_float(from.dtype)) return float_to_int(b, to, widen_half(b, from, v));
  return b.CreateIntCast(v, value_type(b.getContext(), to), is_signed_int(from.dtype));
}

llvm::Value* emit_lane_reduce(Builder& b, BinaryOp op, Type t, llvm::Value* v) {
  const auto part = [&](llvm::Value* from, int first, int count) -> llvm::Value* {
    if (count == 1) return b.CreateExtractElement(from, static_cast<uint64_t>(first));
    llvm::SmallVector<int, 64> lanes(static_cast<size_t>(count));
    std::iota(lanes.begin(), lanes.end(), first);
    return b.CreateShuffleVector(from, lanes);
  };
  for (int lanes = t.lanes; lanes > 1; lanes = (lanes + 1) / 2) {
    const int half = (lanes + 1) / 2, pairs = lanes / 2;
    llvm::Value* sums =
        emit_binary(b, op, t.with_lanes(pairs), part(v, 0, pairs), part(v, half, pairs));
    if (half == pairs) {
      v = sums;
      continue;
    }
    // The middle lane goes behind the sums.
    for (int l = 0; l < pairs; ++l) {
      llvm::Value* sum = pairs == 1 ? sums : b.CreateExtractElement(sums, static_cast<uint64_t>(l));
      v = b.CreateInsertElement(v, sum, static_cast<uint64_t>(l));
    }
    v = part(v, 0, half);
  }
  return v;
}

}  // namespace espalier::internal
