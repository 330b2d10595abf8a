// Statements: the loop nest that a schedule lowers to, and what code generation works on.
#pragma once

#include "espalier/ir/buffer.h"

namespace espalier {

enum class StmtKind : uint8_t { For, Store, If, Let, Block, Allocate, Prefetch };

enum class ForKind : uint8_t {
  Serial,
  Parallel,    // iterations are independent; run by espalier_parallel_for
  Vectorized,  // constant extent; becomes vectors of at most the target's lanes
  Unrolled,    // constant extent; becomes straight code
};

struct StmtNode : RefCounted {
  StmtKind kind;
  explicit StmtNode(StmtKind k) : kind(k) {}
  static void destroy(const StmtNode* node);
};

class Stmt : public Ref<const StmtNode> {
 public:
  using Ref<const StmtNode>::Ref;
  Stmt() = default;
  Stmt(Ref<const StmtNode> r) : Ref<const StmtNode>(std::move(r)) {}
  StmtKind kind() const { return get()->kind; }
  bool same_as(const Stmt& o) const { return get() == o.get(); }
  template <class Node>
  const Node* as() const {
    return get() && get()->kind == Node::kKind ? static_cast<const Node*>(get()) : nullptr;
  }
};

// for var in [min, min + extent): a negative extent is an empty loop.
struct ForNode final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::For;
  Var var;
  Expr min, extent;
  ForKind for_kind = ForKind::Serial;
  // Asked for by the schedule: cut into low, interior and high parts so that the interior has no
  // guards (consumed by schedule/partition.h).
  bool partition = false;
  Stmt body;
  ForNode() : StmtNode(kKind) {}
};
struct StoreNode final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::Store;
  Buffer buffer;
  std::vector<Expr> indices;  // as in LoadNode
  Expr value;
  Expr predicate;  // lanes where it is false are not written; empty: all true
  bool flat = false;
  bool non_temporal = false;
  StoreNode() : StmtNode(kKind) {}
};
struct IfNode final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::If;
  Expr cond;                  // scalar bool
  Stmt then_case, else_case;  // else may be empty
  IfNode() : StmtNode(kKind) {}
};
struct LetNode final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::Let;
  Var var;
  Expr value;
  Stmt body;
  LetNode() : StmtNode(kKind) {}
};
struct BlockNode final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::Block;
  std::vector<Stmt> stmts;  // in order; may be empty
  BlockNode() : StmtNode(kKind) {}
};
// The buffer's memory exists during `body`; its content is undefined at the start.
struct AllocateNode final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::Allocate;
  Buffer buffer;
  Stmt body;
  AllocateNode() : StmtNode(kKind) {}
};
// A hint: the line that holds the element will be read soon (or written). Never faults.
struct PrefetchNode final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::Prefetch;
  Buffer buffer;
  std::vector<Expr> indices;
  bool flat = false;
  bool for_write = false;
  int locality = 3;  // 0 (none) .. 3 (keep in L1)
  PrefetchNode() : StmtNode(kKind) {}
};

Stmt make_for(Var var, Expr min, Expr extent, ForKind kind, Stmt body, bool partition = false);
Stmt make_store(Buffer buffer, std::vector<Expr> indices, Expr value, Expr predicate = {},
                bool non_temporal = false);
Stmt make_flat_store(Buffer buffer, Expr offset, Expr value, Expr predicate = {},
                     bool non_temporal = false);
Stmt make_if(Expr cond, Stmt then_case, Stmt else_case = {});
Stmt make_let(Var var, Expr value, Stmt body);
Stmt make_block(std::vector<Stmt> stmts);  // flattens nested blocks, drops empty ones
Stmt make_allocate(Buffer buffer, Stmt body);
Stmt make_prefetch(Buffer buffer, std::vector<Expr> indices, bool for_write, int locality,
                   bool flat = false);

// A function over buffers. `params` are bound by position at a call.
struct LoweredFunc {
  enum class Role : uint8_t { Input, Constant, Packed, Output };
  struct Param {
    Buffer buffer;
    Role role = Role::Input;
    int stage = -1;  // stage of the DAG (Packed: the constant that it repacks)
  };
  std::string name;
  std::vector<Param> params;
  Stmt body;
  int threads = 1;  // the number of parallel slots it was lowered for
};

// What a schedule lowers to: `pack` (empty body when nothing is repacked) turns Constant params
// into Packed ones, once, at bind; `main` does the rest.
struct LoweredKernel {
  LoweredFunc main, pack;
};

std::string to_string(const Stmt& s);
std::string to_string(const LoweredFunc& f);

}  // namespace espalier
