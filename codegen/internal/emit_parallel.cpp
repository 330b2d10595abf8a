// Parallel loops: the body becomes a function of its own, called through espalier_parallel_for.
#include <algorithm>

#include "espalier/codegen/asm_report.h"
#include "espalier/codegen/internal/emitter.h"
#include "espalier/codegen/workspace.h"
#include "espalier/ir/mutate.h"
#include "espalier/support/check.h"

namespace espalier::internal {

void FunctionEmitter::emit_parallel(const ForNode& n) {
  statement_.clear();
  // What the body uses of what is bound here travels in a struct.
  std::vector<Expr> vars;
  std::vector<Buffer> buffers;
  const auto on_buffer = [&](const Buffer& buffer) {
    if (places_.contains(buffer.get()) &&
        std::find(buffers.begin(), buffers.end(), buffer) == buffers.end()) {
      buffers.push_back(buffer);
    }
  };
  const auto on_expr = [&](const Expr& e) {
    if (e.kind() == ExprKind::Var && vars_.contains(e.get()) && !e.same_as(n.var) &&
        std::none_of(vars.begin(), vars.end(), [&](const Expr& v) { return v.same_as(e); })) {
      vars.push_back(e);
    }
    if (const auto* load = e.as<LoadNode>()) on_buffer(load->buffer);
    return true;
  };
  const auto on_stmt = [&](const Stmt& s) {
    if (const auto* store = s.as<StoreNode>()) on_buffer(store->buffer);
    if (const auto* prefetch = s.as<PrefetchNode>()) on_buffer(prefetch->buffer);
    return true;
  };
  visit(n.body, on_stmt, on_expr);

  std::vector<llvm::Value*> captured;
  for (const Expr& v : vars) captured.push_back(vars_.at(v.get()));
  for (const Buffer& buffer : buffers) captured.push_back(places_.at(buffer.get()).base);
  const int64_t slice = workspace_slice(n.body);
  captured.push_back(
      b_.CreateGEP(b_.getInt8Ty(), workspace_, b_.getInt64(static_cast<uint64_t>(workspace_top_))));
  std::vector<llvm::Type*> types;
  for (llvm::Value* v : captured) types.push_back(v->getType());
  auto* type = llvm::StructType::get(b_.getContext(), types);
  llvm::AllocaInst* data = entry_alloca(type, llvm::Align(64), "captures");
  for (size_t i = 0; i < captured.size(); ++i) {
    b_.CreateStore(captured[i], b_.CreateStructGEP(type, data, static_cast<unsigned>(i)));
  }

  auto* body_type = llvm::FunctionType::get(
      b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty(), b_.getInt32Ty()}, false);
  auto* body = llvm::Function::Create(body_type, llvm::GlobalValue::InternalLinkage,
                                      state_.func.name + ".body" + std::to_string(state_.bodies++),
                                      state_.module);
  FunctionEmitter emitter(state_, body);
  emitter.emit_body(n, type, vars, buffers, slice);

  llvm::Type* ptr = b_.getPtrTy();
  llvm::Type* i64 = b_.getInt64Ty();
  llvm::FunctionCallee hook = state_.module.getOrInsertFunction(
      "espalier_parallel_for", b_.getInt32Ty(), ptr, i64, i64, i64, ptr, ptr);
  llvm::Value* first = emit(n.min);
  llvm::Value* end = b_.CreateAdd(first, emit(n.extent));
  llvm::CallInst* status = b_.CreateCall(hook, {context_, first, end, b_.getInt64(1), body, data});
  status->setDoesNotThrow();
  forget_reads();
  llvm::BasicBlock* failed = new_block("failed");
  llvm::BasicBlock* done = new_block("done");
  b_.CreateCondBr(b_.CreateICmpEQ(status, b_.getInt32(0)), done, failed);
  b_.SetInsertPoint(failed);
  finish(status);
  b_.SetInsertPoint(done);
}

void FunctionEmitter::emit_body(const ForNode& n, llvm::StructType* captures,
                                const std::vector<Expr>& vars, const std::vector<Buffer>& buffers,
                                int64_t slice) {
  in_body_ = true;
  int64_t extent;
  if (!is_const_int(n.extent, &extent)) extent = -1;
  b_.GetInsertBlock()->setName(loop_block_name(n.var.name(), extent));
  llvm::Value* data = function_->getArg(0);
  const auto load = [&](size_t i) {
    llvm::Value* at = b_.CreateStructGEP(captures, data, static_cast<unsigned>(i));
    llvm::LoadInst* v = b_.CreateLoad(captures->getElementType(static_cast<unsigned>(i)), at);
    v->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
    return v;
  };
  size_t next = 0;
  for (const Expr& v : vars) vars_[v.get()] = load(next++);
  for (const Buffer& buffer : buffers) {
    const int64_t align = buffer->scope == BufferScope::Param ? buffer->alignment : 64;
    places_[buffer.get()] = {load(next++), align};
  }
  llvm::Value* slices = load(next);
  llvm::Value* slot = b_.CreateZExt(function_->getArg(2), b_.getInt64Ty());
  workspace_ = b_.CreateGEP(b_.getInt8Ty(), slices,
                            b_.CreateMul(slot, b_.getInt64(static_cast<uint64_t>(slice))));
  vars_[n.var.get()] = function_->getArg(1);
  emit(n.body);
  finish(nullptr);
}

}  // namespace espalier::internal
