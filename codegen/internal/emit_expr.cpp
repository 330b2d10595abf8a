#include <algorithm>
#include <cstdlib>

#include "espalier/codegen/any_part.h"
#include "espalier/codegen/internal/arith.h"
#include "espalier/codegen/internal/emitter.h"
#include "espalier/support/check.h"
#include "espalier/support/half.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"

namespace espalier::internal {

namespace {

bool reads_memory(const Expr& e) {
  return any_part(e, [](const Expr& part) { return part.kind() == ExprKind::Load; });
}

}  // namespace

// The one buffer that `e` reads, if it is a load, or a load in all lanes, from a place that does
// not itself depend on memory.
const BufferNode* FunctionEmitter::source_of(const Expr& e) const {
  const auto* broadcast = e.as<BroadcastNode>();
  const auto* load = broadcast != nullptr ? broadcast->value.as<LoadNode>() : e.as<LoadNode>();
  if (load == nullptr || slots_.contains(load->buffer.get())) return nullptr;
  if (reads_memory(load->indices[0])) return nullptr;
  return load->predicate && reads_memory(load->predicate) ? nullptr : load->buffer.get();
}

FunctionEmitter::Emitted FunctionEmitter::emit_memoized(const Expr& e) {
  if (const auto* c = e.as<ConstNode>()) return {emit_constant(*c), true};
  if (e.kind() == ExprKind::Var) {
    const auto it = vars_.find(e.get());
    ESP_CHECK(it != vars_.end(), "unbound variable ", static_cast<const VarNode*>(e.get())->name);
    return {it->second, true};
  }
  for (auto scope = pure_.rbegin(); scope != pure_.rend(); ++scope) {
    if (const auto it = scope->find(e); it != scope->end()) return {it->second, true};
  }
  if (const auto it = statement_.find(e.get()); it != statement_.end()) return {it->second, false};
  const BufferNode* source = source_of(e);
  if (source != nullptr) {
    const auto it = reads_.find(e);
    if (it != reads_.end() && it->second.stores == stores_[source])
      return {it->second.value, false};
  }
  const Emitted result = emit_node(e);
  if (result.pure) {
    pure_.back().emplace(e, result.value);
  } else if (source != nullptr) {
    reads_.insert_or_assign(e, Read{result.value, stores_[source]});
  } else {
    statement_.emplace(e.get(), result.value);
  }
  return result;
}

llvm::Value* FunctionEmitter::emit_constant(const ConstNode& c) {
  llvm::Type* t = value_type(b_.getContext(), c.type);
  if (c.type.dtype == DType::BF16) return int_constant(t, bf16_from_double(c.f));
  if (is_float(c.type.dtype)) return llvm::ConstantFP::get(t, c.f);
  return int_constant(t, c.i);
}

llvm::Value* FunctionEmitter::emit_ramp(llvm::Value* base, int64_t stride, int lanes) {
  llvm::SmallVector<llvm::Constant*, 64> steps;
  for (int l = 0; l < lanes; ++l) {
    steps.push_back(int_constant(
        base->getType(),
        static_cast<int64_t>(static_cast<uint64_t>(stride) * static_cast<uint64_t>(l))));
  }
  return b_.CreateAdd(splat(b_, base, lanes), llvm::ConstantVector::get(steps));
}

// A comparison of lane numbers with one bound, in i32 rather than i64, which would take two vectors
// where the data take one: the bound is first brought next to the lanes' range. Null when `n` is no
// such thing.
llvm::Value* FunctionEmitter::emit_lane_compare(const BinaryNode& n) {
  if (!is_comparison(n.op) || n.a.type().dtype != DType::I64) return nullptr;
  const auto* ramp = n.a.as<RampNode>();
  const bool swapped = ramp == nullptr;
  if (swapped) ramp = n.b.as<RampNode>();
  const auto* bound = (swapped ? n.a : n.b).as<BroadcastNode>();
  constexpr int64_t kSmall = 1 << 20;
  int64_t base;
  if (ramp == nullptr || bound == nullptr || !is_const_int(ramp->base, &base)) return nullptr;
  if (std::abs(base) > kSmall || std::abs(ramp->stride) > kSmall) return nullptr;
  const int lanes = ramp->type.lanes;
  const int64_t last = base + ramp->stride * (lanes - 1);
  const int64_t below = std::min(base, last) - 1, above = std::max(base, last) + 1;
  llvm::Value* near = emit(bound->value);
  near =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, near, int_constant(near->getType(), below));
  near =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, near, int_constant(near->getType(), above));
  near = splat(b_, b_.CreateTrunc(near, b_.getInt32Ty()), lanes);
  llvm::Value* lane = emit_ramp(int_constant(b_.getInt32Ty(), base), ramp->stride, lanes);
  const Type t(DType::I32, lanes);
  return swapped ? emit_binary(b_, n.op, t, near, lane) : emit_binary(b_, n.op, t, lane, near);
}

FunctionEmitter::Emitted FunctionEmitter::emit_node(const Expr& e) {
  const Type t = e.type();
  switch (e.kind()) {
    case ExprKind::Cast: {
      const auto* n = e.as<CastNode>();
      const Emitted v = emit_memoized(n->value);
      return {emit_cast(b_, n->value.type(), t, v.value), v.pure};
    }
    case ExprKind::Reinterpret: {
      const Emitted v = emit_memoized(e.as<ReinterpretNode>()->value);
      return {b_.CreateBitCast(v.value, value_type(b_.getContext(), t)), v.pure};
    }
    case ExprKind::Unary: {
      const auto* n = e.as<UnaryNode>();
      const Emitted a = emit_memoized(n->a);
      return {emit_unary(b_, n->op, t, a.value), a.pure};
    }
    case ExprKind::Binary: {
      const auto* n = e.as<BinaryNode>();
      if (llvm::Value* v = emit_lane_compare(*n)) return {v, false};
      const Emitted x = emit_memoized(n->a), y = emit_memoized(n->b);
      return {emit_binary(b_, n->op, n->a.type(), x.value, y.value), x.pure && y.pure};
    }
    case ExprKind::Fma: {
      const auto* n = e.as<FmaNode>();
      const Emitted x = emit_memoized(n->a), y = emit_memoized(n->b), z = emit_memoized(n->c);
      return {emit_fma(b_, t, x.value, y.value, z.value), x.pure && y.pure && z.pure};
    }
    case ExprKind::Select: {
      // Both sides may be computed: loads in them carry predicates, and arithmetic never traps.
      const auto* n = e.as<SelectNode>();
      const Emitted c = emit_memoized(n->cond), x = emit_memoized(n->a), y = emit_memoized(n->b);
      return {b_.CreateSelect(c.value, x.value, y.value), c.pure && x.pure && y.pure};
    }
    case ExprKind::Load: return {emit_load(*e.as<LoadNode>()), false};
    case ExprKind::Ramp: {
      const auto* n = e.as<RampNode>();
      const Emitted base = emit_memoized(n->base);
      return {emit_ramp(base.value, n->stride, t.lanes), base.pure};
    }
    case ExprKind::Broadcast: {
      const Emitted v = emit_memoized(e.as<BroadcastNode>()->value);
      return {splat(b_, v.value, t.lanes), v.pure};
    }
    case ExprKind::LaneReduce: {
      const auto* n = e.as<LaneReduceNode>();
      const Emitted v = emit_memoized(n->value);
      return {emit_lane_reduce(b_, n->op, n->value.type(), v.value), v.pure};
    }
    case ExprKind::Const:
    case ExprKind::Var:
    case ExprKind::Read:
    case ExprKind::Reduce: break;
  }
  ESP_UNREACHABLE("expression kind in generated code");
}

}  // namespace espalier::internal
