#include "espalier/codegen/internal/emitter.h"
#include "espalier/ir/mutate.h"
#include "espalier/runtime/rt/espalier_rt.h"
#include "llvm/IR/MDBuilder.h"

namespace espalier::internal {
namespace {

// Every buffer of the function that lies in memory, parameters first.
std::vector<Buffer> buffers_of(const LoweredFunc& func) {
  std::vector<Buffer> buffers;
  for (const LoweredFunc::Param& p : func.params) buffers.push_back(p.buffer);
  visit(
      func.body,
      [&](const Stmt& s) {
        if (const auto* n = s.as<AllocateNode>()) {
          // One node may stand in several places, as unrolling copies it.
          if (std::find(buffers.begin(), buffers.end(), n->buffer) == buffers.end()) {
            buffers.push_back(n->buffer);
          }
        }
        return true;
      },
      [](const Expr&) { return false; });
  return buffers;
}

void set_attributes(llvm::Function* f, const TargetTraits& traits) {
  f->addFnAttr(llvm::Attribute::NoUnwind);
  f->addFnAttr("target-cpu", traits.cpu);
  f->addFnAttr("target-features", traits.features);
  if (traits.is_x86) {
    const std::string bits = std::to_string(traits.vector_bits);
    f->addFnAttr("prefer-vector-width", bits);
    f->addFnAttr("min-legal-vector-width", bits);
  }
}

}  // namespace

AliasScopes::AliasScopes(llvm::LLVMContext& ctx, const LoweredFunc& func) {
  llvm::MDBuilder builder(ctx);
  llvm::MDNode* domain = builder.createAnonymousAliasScopeDomain(func.name);
  const std::vector<Buffer> buffers = buffers_of(func);
  std::vector<llvm::Metadata*> scopes;
  for (const Buffer& buffer : buffers) {
    scopes.push_back(builder.createAnonymousAliasScope(domain, buffer->name));
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::vector<llvm::Metadata*> others = scopes;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    lists_[buffers[i].get()] = {llvm::MDNode::get(ctx, {scopes[i]}),
                                llvm::MDNode::get(ctx, others)};
  }
}

void AliasScopes::annotate(llvm::Instruction* access, const Buffer& buffer) const {
  const Lists& lists = lists_.at(buffer.get());
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, lists.own);
  access->setMetadata(llvm::LLVMContext::MD_noalias, lists.others);
}

void FunctionEmitter::emit_entry() {
  llvm::LLVMContext& ctx = b_.getContext();
  llvm::Value* params = function_->getArg(0);
  workspace_ = function_->getArg(1);
  context_ = function_->getArg(2);
  workspace_->setName("workspace");
  llvm::MDNode* empty = llvm::MDNode::get(ctx, {});
  bool has_parallel = false;
  visit(
      state_.func.body,
      [&](const Stmt& s) {
        const auto* loop = s.as<ForNode>();
        if (loop != nullptr && loop->for_kind == ForKind::Parallel) has_parallel = true;
        return !has_parallel;
      },
      [](const Expr&) { return false; });
  if (has_parallel && state_.func.threads > 1) {
    // Slices of scratch exist for as many slots as the code was made for.
    llvm::BasicBlock* check = new_block("check");
    llvm::BasicBlock* refuse = new_block("refuse");
    llvm::BasicBlock* start = new_block("start");
    b_.CreateCondBr(b_.CreateIsNull(context_), start, check);
    b_.SetInsertPoint(check);
    llvm::Value* slots = b_.CreateLoad(
        b_.getInt32Ty(),
        b_.CreateGEP(b_.getInt8Ty(), context_, b_.getInt64(offsetof(espalier_context, slots))));
    llvm::Value* most = b_.getInt32(static_cast<uint32_t>(state_.func.threads));
    b_.CreateCondBr(b_.CreateICmpSGT(slots, most), refuse, start);
    b_.SetInsertPoint(refuse);
    b_.CreateRet(b_.getInt32(ESPALIER_ERROR_SLOTS));
    b_.SetInsertPoint(start);
  }
  for (size_t i = 0; i < state_.func.params.size(); ++i) {
    const Buffer& buffer = state_.func.params[i].buffer;
    llvm::Value* at = b_.CreateGEP(b_.getPtrTy(), params, b_.getInt64(i));
    llvm::LoadInst* base = b_.CreateLoad(b_.getPtrTy(), at, buffer->name);
    base->setMetadata(llvm::LLVMContext::MD_invariant_load, empty);
    if (buffer->bytes() > 0) base->setMetadata(llvm::LLVMContext::MD_nonnull, empty);
    places_[buffer.get()] = {base, buffer->alignment};
  }
  if (state_.func.body) emit(state_.func.body);
  finish(b_.getInt32(0));
}

void emit_function(llvm::Module& module, const LoweredFunc& func, const TargetTraits& traits) {
  llvm::LLVMContext& ctx = module.getContext();
  ModuleState state{module, traits, func, AliasScopes(ctx, func)};
  llvm::Type* ptr = llvm::PointerType::getUnqual(ctx);
  auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(ctx), {ptr, ptr, ptr}, false);
  auto* entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, func.name, module);
  FunctionEmitter(state, entry).emit_entry();
  for (llvm::Function& f : module) {
    if (!f.isDeclaration() && !f.hasFnAttribute("target-cpu")) set_attributes(&f, traits);
  }
}

}  // namespace espalier::internal
