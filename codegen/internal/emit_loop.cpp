#include "espalier/codegen/asm_report.h"
#include "espalier/codegen/internal/emitter.h"
#include "espalier/codegen/ranges.h"
#include "espalier/ir/mutate.h"

namespace espalier::internal {
namespace {

// rest + coef * var, where `rest` does not use var.
struct Progression {
  Expr rest;  // empty: 0
  int64_t coef = 0;
};

int64_t wrapping(uint64_t v) { return static_cast<int64_t>(v); }

std::optional<Progression> progression(const Expr& e, const Var& var) {
  if (e.same_as(var)) return Progression{{}, 1};
  if (e.type() != kIndex) return {};
  const auto* n = e.as<BinaryNode>();
  if (n == nullptr || !uses_var(e, var)) {
    if (uses_var(e, var)) return {};
    return Progression{e, 0};
  }
  int64_t by;
  if (n->op == BinaryOp::Mul && is_const_int(n->b, &by)) {
    std::optional<Progression> p = progression(n->a, var);
    if (!p) return {};
    if (p->rest) p->rest = p->rest * Expr(by);
    p->coef = wrapping(static_cast<uint64_t>(p->coef) * static_cast<uint64_t>(by));
    return p;
  }
  if (n->op != BinaryOp::Add) return {};
  std::optional<Progression> a = progression(n->a, var), b = progression(n->b, var);
  if (!a || !b) return {};
  if (b->rest) a->rest = a->rest ? a->rest + b->rest : b->rest;
  a->coef = wrapping(static_cast<uint64_t>(a->coef) + static_cast<uint64_t>(b->coef));
  return a;
}

// The Lets at the head of a loop's body whose values grow by a constant each iteration.
struct Running {
  const LetNode* let;
  Progression form;
};
std::vector<Running> running_lets(const ForNode& n) {
  std::vector<Running> found;
  std::vector<Var> inside;  // bound before, in the body
  for (const auto* let = n.body.as<LetNode>(); let != nullptr; let = let->body.as<LetNode>()) {
    std::optional<Progression> p;
    if (let->var.type() == kIndex) p = progression(let->value, n.var);
    bool reads = false;
    if (p && p->rest) {
      visit(p->rest, [&](const Expr& e) {
        reads = reads || e.kind() == ExprKind::Load;
        return !reads;
      });
      for (const Var& v : inside) reads = reads || uses_var(p->rest, v);
    }
    if (p && p->coef != 0 && !reads) found.push_back({let, *p});
    inside.push_back(let->var);
  }
  return found;
}

}  // namespace

// Loops count up to their end. Offsets that grow with the counter are counters of their own, so
// that addresses in the body are a register and a constant.
void FunctionEmitter::emit_for(const ForNode& n) {
  statement_.clear();
  int64_t extent;
  const bool constant = is_const_int(n.extent, &extent);
  if (constant && extent <= 0) return;
  llvm::Value* first = emit(n.min);
  llvm::Value* count = emit(n.extent);
  llvm::Value* end = b_.CreateAdd(first, count);
  const std::vector<Running> running = running_lets(n);
  std::vector<llvm::Value*> starts;
  for (const Running& r : running) {
    llvm::Value* step = int_constant(b_.getInt64Ty(), r.form.coef);
    llvm::Value* start = b_.CreateMul(first, step);
    starts.push_back(r.form.rest ? b_.CreateAdd(emit(r.form.rest), start) : start);
  }

  const Interval most = ranges_.of(n.extent);
  ranges_.set(n.var, loop_range(n.min, n.extent, ranges_));
  llvm::BasicBlock* loop =
      new_block(loop_block_name(n.var.name(), most.hi < INT32_MAX ? most.hi : -1));
  llvm::BasicBlock* exit = new_block("exit");
  if (constant) {
    b_.CreateBr(loop);
  } else {
    b_.CreateCondBr(b_.CreateICmpSGT(count, b_.getInt64(0)), loop, exit);
  }
  llvm::BasicBlock* before = b_.GetInsertBlock();
  b_.SetInsertPoint(loop);
  const auto counter = [&](const Var& var, llvm::Value* start) {
    llvm::PHINode* phi = b_.CreatePHI(b_.getInt64Ty(), 2, var.name());
    phi->addIncoming(start, before);
    return phi;
  };
  llvm::PHINode* i = counter(n.var, first);
  vars_[n.var.get()] = i;
  std::vector<llvm::PHINode*> offsets;
  for (size_t k = 0; k < running.size(); ++k) {
    offsets.push_back(counter(running[k].let->var, starts[k]));
    running_[running[k].let] = offsets.back();
  }
  in_scope([&] { emit(n.body); });
  for (const Running& r : running) running_.erase(r.let);
  vars_.erase(n.var.get());  // a sibling may use the variable again
  ranges_.erase(n.var);

  llvm::BasicBlock* latch = b_.GetInsertBlock();
  for (size_t k = 0; k < running.size(); ++k) {
    llvm::Value* step = int_constant(b_.getInt64Ty(), running[k].form.coef);
    offsets[k]->addIncoming(b_.CreateAdd(offsets[k], step), latch);
  }
  llvm::Value* next = b_.CreateNSWAdd(i, b_.getInt64(1));
  i->addIncoming(next, latch);
  b_.CreateCondBr(b_.CreateICmpEQ(next, end), exit, loop);
  b_.SetInsertPoint(exit);
}

}  // namespace espalier::internal
