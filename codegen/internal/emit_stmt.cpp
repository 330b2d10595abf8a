#include "espalier/codegen/internal/emitter.h"
#include "espalier/codegen/workspace.h"
#include "espalier/ir/mutate.h"
#include "espalier/support/check.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/MDBuilder.h"

namespace espalier::internal {

FunctionEmitter::FunctionEmitter(ModuleState& state, llvm::Function* function)
    : state_(state), function_(function), b_(state.module.getContext()) {
  b_.has_f16_conversions = state.traits.f16_conversions;
  if (state.traits.is_x86) {
    b_.x86_vector_bits = static_cast<unsigned>(state.traits.vector_bits);
  }
  b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", function_));
  pure_.emplace_back();
}

llvm::BasicBlock* FunctionEmitter::new_block(const llvm::Twine& name) {
  return llvm::BasicBlock::Create(b_.getContext(), name, function_);
}

llvm::AllocaInst* FunctionEmitter::entry_alloca(llvm::Type* type, llvm::Align align,
                                                const llvm::Twine& name) {
  llvm::BasicBlock& entry = function_->getEntryBlock();
  Builder at(&entry, entry.begin());
  llvm::AllocaInst* slot = at.CreateAlloca(type, nullptr, name);
  slot->setAlignment(std::max(align, slot->getAlign()));
  return slot;
}

void FunctionEmitter::finish(llvm::Value* result) {
  // Non-temporal stores are not ordered with what tells others that this code is done.
  if (has_non_temporal_ && state_.traits.is_x86) {
    b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  }
  if (result == nullptr) {
    b_.CreateRetVoid();
  } else {
    b_.CreateRet(result);
  }
}

void FunctionEmitter::emit(const Stmt& s) {
  switch (s.kind()) {
    case StmtKind::For: {
      const auto* n = s.as<ForNode>();
      const bool pooled = n->for_kind == ForKind::Parallel && !in_body_ && state_.func.threads > 1;
      return pooled ? emit_parallel(*n) : emit_for(*n);
    }
    case StmtKind::Store: return emit_store(*s.as<StoreNode>());
    case StmtKind::If: return emit_if(*s.as<IfNode>());
    case StmtKind::Let: {
      const auto* n = s.as<LetNode>();
      statement_.clear();
      // The loop around may already count it along (emit_for).
      const auto counted = running_.find(n);
      vars_[n->var.get()] = counted != running_.end() ? counted->second : emit(n->value);
      if (n->var.type() == kIndex) {
        divisors_[n->var.get()] = divisor(n->value);
        ranges_.set(n->var, ranges_.of(n->value));
      }
      in_scope([&] { emit(n->body); });
      vars_.erase(n->var.get());
      return;
    }
    case StmtKind::Block:
      for (const Stmt& part : s.as<BlockNode>()->stmts) emit(part);
      return;
    case StmtKind::Allocate: return emit_allocate(*s.as<AllocateNode>());
    case StmtKind::Prefetch: return emit_prefetch(*s.as<PrefetchNode>());
  }
  ESP_UNREACHABLE("statement kind");
}

void FunctionEmitter::emit_if(const IfNode& n) {
  statement_.clear();
  llvm::Value* cond = emit(n.cond);
  llvm::BasicBlock* then = new_block("then");
  llvm::BasicBlock* after = new_block("after");
  llvm::BasicBlock* otherwise = n.else_case ? new_block("else") : after;
  b_.CreateCondBr(cond, then, otherwise);
  b_.SetInsertPoint(then);
  in_scope([&] { emit(n.then_case); });
  b_.CreateBr(after);
  if (n.else_case) {
    b_.SetInsertPoint(otherwise);
    in_scope([&] { emit(n.else_case); });
    b_.CreateBr(after);
  }
  b_.SetInsertPoint(after);
}

void FunctionEmitter::emit_allocate(const AllocateNode& n) {
  const Buffer& buffer = n.buffer;
  llvm::LLVMContext& ctx = b_.getContext();
  if (buffer->scope == BufferScope::Workspace) {
    const int64_t top = workspace_top_;
    llvm::Value* base = b_.CreateGEP(b_.getInt8Ty(), workspace_,
                                     b_.getInt64(static_cast<uint64_t>(top)), buffer->name);
    places_[buffer.get()] = {base, 64};
    workspace_top_ += workspace_size(buffer);
    emit(n.body);
    workspace_top_ = top;
    places_.erase(buffer.get());
    return;
  }
  if (buffer->scope == BufferScope::Register) {
    if (auto plan = plan_registers(buffer, n.body, !in_body_ && state_.func.threads > 1)) {
      std::vector<HeldSlot> slots;
      for (const RegisterSlot& shape : *plan) {
        llvm::Type* type = memory_type(ctx, Type(buffer->dtype, shape.lanes));
        slots.push_back({shape, entry_alloca(type, llvm::Align(1), buffer->name)});
      }
      slots_[buffer.get()] = std::move(slots);
      emit(n.body);
      slots_.erase(buffer.get());
      return;
    }
  }
  ESP_CHECK(buffer->scope != BufferScope::Param, "a parameter is allocated: ", buffer->name);
  auto* type =
      llvm::ArrayType::get(memory_type(ctx, buffer->dtype),
                           static_cast<uint64_t>(std::max<int64_t>(1, buffer->elements())));
  places_[buffer.get()] = {entry_alloca(type, llvm::Align(64), buffer->name), 64};
  emit(n.body);
  places_.erase(buffer.get());
}

}  // namespace espalier::internal
