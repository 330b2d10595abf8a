// A trace of what a lowered function touches: every access of every statement, with the loops
// around it. For tests; it walks index expressions and conditions, not data.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "espalier/ir/children.h"
#include "espalier/ir/scalar_ops.h"
#include "espalier/ir/stmt.h"

namespace espalier {

class AccessTrace {
 public:
  using Loops = std::vector<std::pair<const VarNode*, int64_t>>;  // outermost first
  struct Event {
    const Buffer& written;  // of the statement that does the access
    const Buffer& buffer;
    bool store;
    int64_t offset;  // element
    const Loops& loops;
  };
  using Sink = std::function<void(const Event&)>;

  explicit AccessTrace(Sink sink) : sink_(std::move(sink)) {}

  void run(const Stmt& s) {
    switch (s.kind()) {
      case StmtKind::For: {
        const auto* loop = s.as<ForNode>();
        const int64_t min = value(loop->min), extent = value(loop->extent);
        loops_.emplace_back(static_cast<const VarNode*>(loop->var.get()), 0);
        for (int64_t i = 0; i < extent; ++i) {
          loops_.back().second = min + i;
          run(loop->body);
        }
        loops_.pop_back();
        return;
      }
      case StmtKind::Store: {
        const auto* store = s.as<StoreNode>();
        if (store->predicate && value(store->predicate) == 0) return;
        read(store->value, store->buffer);
        sink_({store->buffer, store->buffer, true, offset(store->buffer, store->indices), loops_});
        return;
      }
      case StmtKind::If: {
        const auto* branch = s.as<IfNode>();
        if (value(branch->cond) != 0) {
          run(branch->then_case);
        } else if (branch->else_case) {
          run(branch->else_case);
        }
        return;
      }
      case StmtKind::Let: {
        const auto* let = s.as<LetNode>();
        lets_[static_cast<const VarNode*>(let->var.get())] = value(let->value);
        run(let->body);
        return;
      }
      case StmtKind::Block:
        for (const Stmt& part : s.as<BlockNode>()->stmts) run(part);
        return;
      case StmtKind::Allocate: run(s.as<AllocateNode>()->body); return;
      case StmtKind::Prefetch: return;
    }
  }

 private:
  int64_t offset(const Buffer& buffer, const std::vector<Expr>& indices) {
    int64_t at = 0;
    for (size_t d = 0; d < indices.size(); ++d) at = at * buffer->shape[d] + value(indices[d]);
    return at;
  }

  void read(const Expr& e, const Buffer& written) {
    if (const auto* choice = e.as<SelectNode>()) {
      if (!mentions_load(choice->cond)) {
        read(value(choice->cond) != 0 ? choice->a : choice->b, written);
        return;
      }
    }
    if (const auto* load = e.as<LoadNode>()) {
      if (load->predicate && value(load->predicate) == 0) return;
      sink_({written, load->buffer, false, offset(load->buffer, load->indices), loops_});
      return;
    }
    for_each_child(*e, [&](const Expr& child) { read(child, written); });
  }

  static bool mentions_load(const Expr& e) {
    bool found = e.kind() == ExprKind::Load;
    for_each_child(*e, [&](const Expr& child) { found = found || mentions_load(child); });
    return found;
  }

  int64_t value(const Expr& e) {
    switch (e.kind()) {
      case ExprKind::Const: return e.as<ConstNode>()->i;
      case ExprKind::Var: {
        const auto* var = e.as<VarNode>();
        for (auto it = loops_.rbegin(); it != loops_.rend(); ++it) {
          if (it->first == var) return it->second;
        }
        return lets_.at(var);
      }
      case ExprKind::Unary: {
        const auto* unary = e.as<UnaryNode>();
        const int64_t a = value(unary->a);
        return unary->op == UnaryOp::Not ? a == 0 : -a;
      }
      case ExprKind::Cast: return value(e.as<CastNode>()->value);
      case ExprKind::Select: {
        const auto* choice = e.as<SelectNode>();
        return value(value(choice->cond) != 0 ? choice->a : choice->b);
      }
      case ExprKind::Binary: return binary(*e.as<BinaryNode>());
      default: ESP_UNREACHABLE("an index or condition that reads data");
    }
  }

  int64_t binary(const BinaryNode& e) {
    const int64_t a = value(e.a);
    if (e.op == BinaryOp::And && a == 0) return 0;
    if (e.op == BinaryOp::Or && a != 0) return 1;
    const int64_t b = value(e.b);
    const int64_t down = b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
    switch (e.op) {
      case BinaryOp::Add: return a + b;
      case BinaryOp::Sub: return a - b;
      case BinaryOp::Mul: return a * b;
      case BinaryOp::FloorDiv: return down;
      case BinaryOp::FloorMod: return a - down * b;
      case BinaryOp::Min: return std::min(a, b);
      case BinaryOp::Max: return std::max(a, b);
      case BinaryOp::And:
      case BinaryOp::Or: return b != 0;
      case BinaryOp::Lt: return a < b;
      case BinaryOp::Le: return a <= b;
      case BinaryOp::Gt: return a > b;
      case BinaryOp::Ge: return a >= b;
      case BinaryOp::Eq: return a == b;
      case BinaryOp::Ne: return a != b;
      default: ESP_UNREACHABLE("an operation on indices");
    }
  }

  Sink sink_;
  Loops loops_;
  std::map<const VarNode*, int64_t> lets_;
};

}  // namespace espalier
