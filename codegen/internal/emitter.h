// From the final form of a LoweredFunc to LLVM IR.
#pragma once

#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "espalier/codegen/internal/types.h"
#include "espalier/codegen/register_plan.h"
#include "espalier/ir/simplify.h"
#include "espalier/ir/stmt.h"
#include "llvm/IR/Module.h"

namespace espalier::internal {

// What emission must know of the machine.
struct TargetTraits {
  std::string cpu, features, triple;
  int vector_bits = 128;
  // Stores under a mask are as fast as plain ones (AVX-512); else a ladder of plain stores is used
  // where the mask is a constant.
  bool masked_stores = false;
  // Loads under a mask are one instruction, for elements of at least this many bytes; 0: never.
  int masked_load_bytes = 0;
  bool f16_conversions = false;  // has instructions for them
  bool is_x86 = false;
};

// Adds `int32_t name(void* const* params, void* workspace, espalier_context* ctx)` and the bodies
// of its parallel loops to the module.
void emit_function(llvm::Module& module, const LoweredFunc& func, const TargetTraits& traits);

// Facts shared by a function and the bodies outlined from it: each buffer has an alias scope, since
// two buffers never overlap (a call checks its arguments).
class AliasScopes {
 public:
  AliasScopes(llvm::LLVMContext& ctx, const LoweredFunc& func);
  void annotate(llvm::Instruction* access, const Buffer& buffer) const;

 private:
  struct Lists {
    llvm::MDNode *own, *others;
  };
  std::unordered_map<const BufferNode*, Lists> lists_;
};

struct ModuleState {
  llvm::Module& module;
  const TargetTraits& traits;
  const LoweredFunc& func;
  AliasScopes scopes;
  int bodies = 0;  // parallel bodies so far, for their names
};

class FunctionEmitter {
 public:
  FunctionEmitter(ModuleState& state, llvm::Function* function);

  void emit_entry();

 private:
  // Expressions (emit_expr.cpp). `pure`: reads no memory, so it holds wherever it dominates.
  struct Emitted {
    llvm::Value* value;
    bool pure;
  };
  llvm::Value* emit(const Expr& e) { return emit_memoized(e).value; }
  Emitted emit_memoized(const Expr& e);
  const BufferNode* source_of(const Expr& e) const;
  Emitted emit_node(const Expr& e);
  llvm::Value* emit_constant(const ConstNode& c);
  llvm::Value* emit_ramp(llvm::Value* base, int64_t stride, int lanes);
  llvm::Value* emit_lane_compare(const BinaryNode& n);

  // Memory (emit_memory.cpp).
  struct Mask {
    enum class Kind { All, Prefix, Uniform, Lanes } kind = Kind::All;
    int prefix = 0;                // Prefix: the number of leading lanes, less than all
    llvm::Value* value = nullptr;  // Uniform: i1; Lanes: <n x i1>
  };
  struct Place {  // of a buffer that is in memory
    llvm::Value* base = nullptr;
    int64_t alignment = 1;
  };
  Mask emit_mask(const Expr& predicate, int lanes);
  llvm::Value* mask_lanes(const Mask& mask, int lanes);
  const Place& place_of(const Buffer& buffer) const;
  llvm::Value* address(const Place& place, const Buffer& buffer, const Expr& offset);
  llvm::Value* address_of_lane(const Place& place, const Buffer& buffer, const Expr& offset,
                               int lane);
  llvm::Align alignment(const Place& place, const Buffer& buffer, const Expr& offset) const;
  int64_t divisor(const Expr& e) const;  // a power of two that divides e's value
  llvm::Value* plain_load(const Buffer& buffer, Type t, llvm::Value* at, llvm::Align align);
  llvm::Value* emit_load(const LoadNode& n);
  llvm::Value* load_contiguous(const LoadNode& n, const Expr& first, const Mask& mask);
  llvm::Value* load_pieces(const LoadNode& n, llvm::Value* at, llvm::Align align, int count);
  llvm::Value* load_strided(const LoadNode& n, const RampNode& offset, const Mask& mask);
  llvm::Value* load_lanes(const LoadNode& n, const Mask& mask);
  // A value that a register buffer is held in. Loads and stores of a part touch its first lanes.
  struct HeldSlot {
    RegisterSlot shape;
    llvm::AllocaInst* value;
  };
  const HeldSlot& find_slot(const Buffer& buffer, const RegisterSlot& part) const;
  llvm::Value* load_slot(const HeldSlot& slot, const RegisterSlot& part, const LoadNode& n);
  llvm::Value* load_column(const LoadNode& n, const StridedRead& read);
  // Zeros in the lanes past the active ones, where they can be seen.
  llvm::Value* blank_others(llvm::Value* v, int active, int lanes);
  void store_slot(const HeldSlot& slot, const RegisterSlot& part, llvm::Value* value,
                  const Expr& predicate);
  void emit_store(const StoreNode& n);
  void store_contiguous(const StoreNode& n, llvm::Value* value, const Expr& first,
                        const Mask& mask);
  void store_pieces(const StoreNode& n, llvm::Value* value, llvm::Value* at, llvm::Align align,
                    int count);
  void store_lanes(const StoreNode& n, llvm::Value* value, const Mask& mask);
  void emit_prefetch(const PrefetchNode& n);

  // Statements (emit_stmt.cpp, emit_loop.cpp, emit_parallel.cpp).
  void emit(const Stmt& s);
  void emit_for(const ForNode& n);
  void emit_if(const IfNode& n);
  void emit_allocate(const AllocateNode& n);
  void emit_parallel(const ForNode& n);
  void emit_body(const ForNode& n, llvm::StructType* captures, const std::vector<Expr>& vars,
                 const std::vector<Buffer>& buffers, int64_t slice);
  // Runs `f` with nothing of what it memoizes left behind.
  template <class F>
  void in_scope(F f);
  void forget_reads() {
    reads_.clear();
    columns_.clear();
  }
  llvm::AllocaInst* entry_alloca(llvm::Type* type, llvm::Align align, const llvm::Twine& name);
  llvm::BasicBlock* new_block(const llvm::Twine& name);
  void finish(llvm::Value* result);  // returns from the function

  ModuleState& state_;
  llvm::Function* function_;
  Builder b_;
  llvm::Value* context_ = nullptr;    // espalier_context*; null inside a parallel body
  llvm::Value* workspace_ = nullptr;  // where this function's next workspace buffer is relative to
  int64_t workspace_top_ = 0;
  bool in_body_ = false;
  bool has_non_temporal_ = false;

  std::unordered_map<const ExprNode*, llvm::Value*> vars_;
  Bounds ranges_;  // of variables of loops and of indices, to name loops by their extents
  std::unordered_map<const ExprNode*, int64_t> divisors_;     // of variables, where more than 1
  std::unordered_map<const LetNode*, llvm::Value*> running_;  // Lets that a loop counts along
  std::unordered_map<const BufferNode*, Place> places_;
  std::unordered_map<const BufferNode*, std::vector<HeldSlot>> slots_;

  struct ExprHash {
    size_t operator()(const Expr& e) const { return static_cast<size_t>(e->hash); }
  };
  struct ExprEqual {
    bool operator()(const Expr& a, const Expr& b) const { return equal(a, b); }
  };
  std::vector<std::unordered_map<Expr, llvm::Value*, ExprHash, ExprEqual>> pure_;
  std::unordered_map<const ExprNode*, llvm::Value*> statement_;  // what the current one read
  // What straight code has read since the last change of control, and how often the buffer had been
  // stored to by then.
  struct Read {
    llvm::Value* value;
    int64_t stores;
  };
  std::unordered_map<Expr, Read, ExprHash, ExprEqual> reads_;
  std::unordered_map<const BufferNode*, int64_t> stores_;
  // Tiles in registers whose columns straight code has made: by buffer, first element, stride and
  // number of rows.
  struct Columns {
    std::vector<llvm::Value*> values;
    int lanes = 0;
    int64_t stores = 0;
  };
  std::map<std::tuple<const BufferNode*, int64_t, int64_t, int>, Columns> columns_;
  static constexpr int kAllLanes = 1 << 30;
  // The leading lanes that matter of the value being emitted, where later lanes cannot be seen.
  int stored_lanes_ = kAllLanes;
  // Where that value is stored, lane by lane, if that is known only when the code runs: values of
  // other lanes cannot be seen.
  Expr stored_where_;
};

template <class F>
void FunctionEmitter::in_scope(F f) {
  pure_.emplace_back();
  forget_reads();
  f();
  pure_.pop_back();
  forget_reads();
}

}  // namespace espalier::internal
