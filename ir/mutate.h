// Rewriting trees with lambdas. A rewrite returns the same node when nothing below it changed.
#pragma once

#include <functional>
#include <unordered_map>

#include "espalier/ir/dag.h"
#include "espalier/ir/stmt.h"

namespace espalier {

// Rebuilds `e` with every direct operand replaced by f(operand). The makers run again, so operand
// types may change together (scalars to vectors).
Expr map_children(const Expr& e, const std::function<Expr(const Expr&)>& f);
// Rebuilds `s` with its direct expressions mapped by fe and its direct statements by fs.
Stmt map_children(const Stmt& s, const std::function<Expr(const Expr&)>& fe,
                  const std::function<Stmt(const Stmt&)>& fs);

// Visits every node, parents first. Returning false from `f` skips the children.
void visit(const Expr& e, const std::function<bool(const Expr&)>& f);
void visit(const Stmt& s, const std::function<bool(const Stmt&)>& on_stmt,
           const std::function<bool(const Expr&)>& on_expr);

using VarMap = std::unordered_map<const ExprNode*, Expr>;  // from Var nodes
Expr substitute(const Expr& e, const VarMap& map);
Stmt substitute(const Stmt& s, const VarMap& map);
bool uses_var(const Expr& e, const Var& v);
bool uses_var(const Stmt& s, const Var& v);

}  // namespace espalier
