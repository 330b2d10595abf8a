#include <optional>
#include <unordered_map>

#include "espalier/ir/internal/stmt_program.h"
#include "espalier/support/check.h"

namespace espalier {
namespace {

class Compiler {
 public:
  Result<StmtProgram> run(const LoweredFunc& func) {
    for (const LoweredFunc::Param& p : func.params) add_memory(p.buffer);
    program_.root = func.body ? stmt(func.body) : -1;
    if (error_) return *error_;
    return std::move(program_);
  }

 private:
  using Code = StmtOp::Code;

  void fail(std::string message) {
    if (!error_) error_ = Error{ErrorCode::InvalidArgument, std::move(message), {}};
  }

  int place(int lanes) {
    const size_t at = program_.frame.size();
    program_.frame.resize(at + static_cast<size_t>(lanes));
    return static_cast<int>(at);
  }

  int add_memory(const Buffer& b) {
    StmtMemory m;
    m.buffer = b;
    bool empty = false;
    for (size_t d = 0; d < b->shape.size(); ++d) {
      empty |= b->shape[d] == 0;
      const int64_t reach = (b->shape[d] - 1) * b->strides[d];
      (reach < 0 ? m.lowest : m.highest) += reach;
    }
    m.highest = empty ? m.lowest - 1 : m.highest + 1;
    program_.memories.push_back(std::move(m));
    const int index = static_cast<int>(program_.memories.size()) - 1;
    memories_[b.get()] = index;
    return index;
  }

  int add(StmtOp op, Type t) {
    op.lanes = t.lanes;
    op.dtype = t.dtype;
    op.out = place(t.lanes);
    program_.ops.push_back(op);
    return static_cast<int>(program_.ops.size()) - 1;
  }

  int constant(const ConstNode& n) {
    const int op = add({}, n.type);
    program_.frame[static_cast<size_t>(program_.ops.back().out)] =
        is_float(n.type.dtype) ? bits_from_double(n.type.dtype, n.f) : static_cast<ScalarBits>(n.i);
    return op;
  }

  // Copies of a loop may share its variable and its body's expressions, so a variable keeps its
  // place; likewise a buffer below.
  int variable(const Var& v) {
    const auto known = ops_.find(v.get());
    if (known != ops_.end()) return program_.ops[static_cast<size_t>(known->second)].out;
    const int op = add({}, v.type());
    ops_[v.get()] = op;
    return program_.ops[static_cast<size_t>(op)].out;
  }

  StmtAccess access(const Buffer& b, const std::vector<Expr>& indices, bool flat) {
    StmtAccess a;
    const auto it = memories_.find(b.get());
    if (it == memories_.end()) {
      fail("buffer '" + b->name + "' is neither a parameter nor allocated around its use");
      return a;
    }
    a.memory = it->second;
    a.flat = flat;
    for (const Expr& i : indices) a.indices.push_back(expr(i));
    a.lanes = lanes_of(indices);
    return a;
  }

  int expr(const Expr& e) {
    const auto known = ops_.find(e.get());
    if (known != ops_.end()) {
      program_.ops[static_cast<size_t>(known->second)].shared = true;
      return known->second;
    }
    const int op = compile(e);
    ops_[e.get()] = op;
    return op;
  }

  int compile(const Expr& e) {
    const Type t = e.type();
    StmtOp op;
    switch (e.kind()) {
      case ExprKind::Const: return constant(*e.as<ConstNode>());
      case ExprKind::Var: fail("variable '" + e.as<VarNode>()->name + "' is not bound"); return 0;
      case ExprKind::Cast: {
        const Expr& v = e.as<CastNode>()->value;
        op.code = Code::Unary;
        op.a = expr(v);
        op.unary = cast_lanes(v.type().dtype, t.dtype);
        return add(op, t);
      }
      case ExprKind::Reinterpret: {
        const Expr& v = e.as<ReinterpretNode>()->value;
        op.code = Code::Reinterpret;
        op.a = expr(v);
        op.from = v.type().dtype;
        return add(op, t);
      }
      case ExprKind::Unary: {
        const auto* n = e.as<UnaryNode>();
        op.code = Code::Unary;
        op.a = expr(n->a);
        op.unary = unary_lanes(n->op, t.dtype);
        return add(op, t);
      }
      case ExprKind::Binary: {
        const auto* n = e.as<BinaryNode>();
        op.code = Code::Binary;
        op.a = expr(n->a);
        op.b = expr(n->b);
        op.binary = binary_lanes(n->op, n->a.type().dtype);
        return add(op, t);
      }
      case ExprKind::Fma: {
        const auto* n = e.as<FmaNode>();
        op.code = Code::Fma;
        op.a = expr(n->a);
        op.b = expr(n->b);
        op.c = expr(n->c);
        op.fma = fma_lanes(t.dtype);
        return add(op, t);
      }
      case ExprKind::Select: {
        const auto* n = e.as<SelectNode>();
        op.code = Code::Select;
        op.a = expr(n->cond);
        op.b = expr(n->a);
        op.c = expr(n->b);
        return add(op, t);
      }
      case ExprKind::Load: {
        const auto* n = e.as<LoadNode>();
        StmtAccess a = access(n->buffer, n->indices, n->flat);
        op.code = Code::Load;
        if (n->predicate) op.a = expr(n->predicate);
        program_.accesses.push_back(std::move(a));
        op.access = static_cast<int>(program_.accesses.size()) - 1;
        return add(op, t);
      }
      case ExprKind::Ramp: {
        const auto* n = e.as<RampNode>();
        op.code = Code::Ramp;
        op.a = expr(n->base);
        op.stride = n->stride;
        op.binary = binary_lanes(BinaryOp::Add, t.dtype);
        return add(op, t);
      }
      case ExprKind::Broadcast: {
        op.code = Code::Broadcast;
        op.a = expr(e.as<BroadcastNode>()->value);
        return add(op, t);
      }
      case ExprKind::LaneReduce: {
        const auto* n = e.as<LaneReduceNode>();
        op.code = Code::LaneReduce;
        op.a = expr(n->value);
        op.binary = binary_lanes(n->op, t.dtype);
        return add(op, t);
      }
      case ExprKind::Read:
      case ExprKind::Reduce:
        fail("'" + to_string(e) + "' belongs to a definition, not to a lowered function");
        return 0;
    }
    ESP_UNREACHABLE("expression kind");
  }

  int stmt(const Stmt& s) {
    StmtInstr i;
    i.kind = s.kind();
    i.source = s;
    switch (s.kind()) {
      case StmtKind::For: {
        const auto* n = s.as<ForNode>();
        i.a = expr(n->min);
        i.b = expr(n->extent);
        i.var = variable(n->var);
        i.then_case = optional(n->body);
        break;
      }
      case StmtKind::Store: {
        const auto* n = s.as<StoreNode>();
        program_.accesses.push_back(access(n->buffer, n->indices, n->flat));
        i.access = static_cast<int>(program_.accesses.size()) - 1;
        i.a = expr(n->value);
        if (n->predicate) i.predicate = expr(n->predicate);
        i.lanes = n->value.type().lanes;
        break;
      }
      case StmtKind::If: {
        const auto* n = s.as<IfNode>();
        i.a = expr(n->cond);
        i.then_case = optional(n->then_case);
        i.else_case = optional(n->else_case);
        break;
      }
      case StmtKind::Let: {
        const auto* n = s.as<LetNode>();
        i.a = expr(n->value);
        i.lanes = n->value.type().lanes;
        i.var = variable(n->var);
        i.then_case = optional(n->body);
        break;
      }
      case StmtKind::Block:
        for (const Stmt& c : s.as<BlockNode>()->stmts) i.stmts.push_back(stmt(c));
        break;
      case StmtKind::Allocate: {
        const auto* n = s.as<AllocateNode>();
        const auto known = memories_.find(n->buffer.get());
        i.memory = known != memories_.end() ? known->second : add_memory(n->buffer);
        i.then_case = optional(n->body);
        break;
      }
      case StmtKind::Prefetch: break;  // never faults, computes nothing
    }
    program_.instrs.push_back(std::move(i));
    return static_cast<int>(program_.instrs.size()) - 1;
  }
  int optional(const Stmt& s) { return s ? stmt(s) : -1; }

  StmtProgram program_;
  std::optional<Error> error_;
  std::unordered_map<const BufferNode*, int> memories_;
  std::unordered_map<const ExprNode*, int> ops_;
};

}  // namespace

Result<StmtProgram> compile_stmt(const LoweredFunc& func) { return Compiler().run(func); }

}  // namespace espalier
