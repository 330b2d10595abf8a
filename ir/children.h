// The direct operands of nodes, in order: the shape of every walk. For walks that are hot; others
// use ir/mutate.h.
#pragma once

#include "espalier/ir/stmt.h"
#include "espalier/ir/tensor.h"
#include "espalier/support/check.h"

namespace espalier {

// Calls f(const Expr&) for each operand. Empty optional ones are left out.
template <class F>
void for_each_child(const ExprNode& e, F&& f) {
  switch (e.kind) {
    case ExprKind::Const:
    case ExprKind::Var: return;
    case ExprKind::Cast: f(static_cast<const CastNode&>(e).value); return;
    case ExprKind::Reinterpret: f(static_cast<const ReinterpretNode&>(e).value); return;
    case ExprKind::Unary: f(static_cast<const UnaryNode&>(e).a); return;
    case ExprKind::Binary: {
      const auto& n = static_cast<const BinaryNode&>(e);
      f(n.a);
      f(n.b);
      return;
    }
    case ExprKind::Fma: {
      const auto& n = static_cast<const FmaNode&>(e);
      f(n.a);
      f(n.b);
      f(n.c);
      return;
    }
    case ExprKind::Select: {
      const auto& n = static_cast<const SelectNode&>(e);
      f(n.cond);
      f(n.a);
      f(n.b);
      return;
    }
    case ExprKind::Read:
      for (const Expr& i : static_cast<const ReadNode&>(e).indices) f(i);
      return;
    case ExprKind::Reduce: {
      const auto& n = static_cast<const ReduceNode&>(e);
      if (n.where) f(n.where);
      f(n.value);
      return;
    }
    case ExprKind::Load: {
      const auto& n = static_cast<const LoadNode&>(e);
      for (const Expr& i : n.indices) f(i);
      if (n.predicate) f(n.predicate);
      return;
    }
    case ExprKind::Ramp: f(static_cast<const RampNode&>(e).base); return;
    case ExprKind::Broadcast: f(static_cast<const BroadcastNode&>(e).value); return;
    case ExprKind::LaneReduce: f(static_cast<const LaneReduceNode&>(e).value); return;
  }
  ESP_UNREACHABLE("expression kind");
}

// Calls fe(const Expr&) for each direct expression and fs(const Stmt&) for each direct statement.
template <class FE, class FS>
void for_each_child(const StmtNode& s, FE&& fe, FS&& fs) {
  switch (s.kind) {
    case StmtKind::For: {
      const auto& n = static_cast<const ForNode&>(s);
      fe(n.min);
      fe(n.extent);
      if (n.body) fs(n.body);
      return;
    }
    case StmtKind::Store: {
      const auto& n = static_cast<const StoreNode&>(s);
      for (const Expr& i : n.indices) fe(i);
      fe(n.value);
      if (n.predicate) fe(n.predicate);
      return;
    }
    case StmtKind::If: {
      const auto& n = static_cast<const IfNode&>(s);
      fe(n.cond);
      if (n.then_case) fs(n.then_case);
      if (n.else_case) fs(n.else_case);
      return;
    }
    case StmtKind::Let: {
      const auto& n = static_cast<const LetNode&>(s);
      fe(n.value);
      if (n.body) fs(n.body);
      return;
    }
    case StmtKind::Block:
      for (const Stmt& c : static_cast<const BlockNode&>(s).stmts) fs(c);
      return;
    case StmtKind::Allocate:
      if (const auto& n = static_cast<const AllocateNode&>(s); n.body) fs(n.body);
      return;
    case StmtKind::Prefetch:
      for (const Expr& i : static_cast<const PrefetchNode&>(s).indices) fe(i);
      return;
  }
  ESP_UNREACHABLE("statement kind");
}

}  // namespace espalier
