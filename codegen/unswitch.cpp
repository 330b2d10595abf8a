#include "espalier/codegen/unswitch.h"

#include <unordered_set>

#include "espalier/ir/mutate.h"

namespace espalier {
namespace {

// Statements that copying a loop for one more condition may add.
constexpr int kMostCopied = 24;
constexpr int kMostConditions = 2;  // a loop

struct Body {
  int statements = 0;
  bool has_loop = false;
  std::unordered_set<const BufferNode*> stored;
  std::unordered_set<const ExprNode*> bound;
};

Body survey(const Stmt& s) {
  Body body;
  visit(
      s,
      [&](const Stmt& part) {
        body.has_loop = body.has_loop || part.kind() == StmtKind::For;
        if (const auto* n = part.as<StoreNode>()) {
          ++body.statements;
          body.stored.insert(n->buffer.get());
        }
        if (const auto* n = part.as<LetNode>()) body.bound.insert(n->var.get());
        return true;
      },
      [](const Expr&) { return false; });
  return body;
}

bool is_invariant(const Expr& cond, const Var& var, const Body& body) {
  bool invariant = true;
  visit(cond, [&](const Expr& e) {
    if (e.same_as(var) || body.bound.contains(e.get())) invariant = false;
    const auto* load = e.as<LoadNode>();
    if (load != nullptr && body.stored.contains(load->buffer.get())) invariant = false;
    return invariant;
  });
  return invariant;
}

// The first invariant condition in the body, and whether its If is all of the body.
struct Found {
  Expr cond;
  bool is_all = false;
};
Found find_condition(const Stmt& s, const Var& var, const Body& body, bool is_all) {
  if (const auto* n = s.as<IfNode>()) {
    if (is_invariant(n->cond, var, body)) return {n->cond, is_all};
    return {};
  }
  if (const auto* n = s.as<LetNode>()) return find_condition(n->body, var, body, is_all);
  if (const auto* n = s.as<AllocateNode>()) return find_condition(n->body, var, body, is_all);
  if (const auto* n = s.as<BlockNode>()) {
    for (const Stmt& part : n->stmts) {
      if (Found found = find_condition(part, var, body, is_all && n->stmts.size() == 1);
          found.cond) {
        return found;
      }
    }
  }
  return {};
}

// `s` where `cond` is known.
Stmt assume(const Stmt& s, const Expr& cond, bool value) {
  if (const auto* n = s.as<IfNode>(); n != nullptr && equal(n->cond, cond)) {
    if (value) return assume(n->then_case, cond, value);
    return n->else_case ? assume(n->else_case, cond, value) : make_block({});
  }
  if (s.kind() == StmtKind::Block) {
    std::vector<Stmt> parts;
    for (const Stmt& part : s.as<BlockNode>()->stmts) parts.push_back(assume(part, cond, value));
    return make_block(std::move(parts));
  }
  return map_children(
      s, [](const Expr& e) { return e; },
      [&](const Stmt& inner) { return assume(inner, cond, value); });
}

bool is_empty(const Stmt& s) {
  if (const auto* n = s.as<BlockNode>()) return n->stmts.empty();
  if (const auto* n = s.as<LetNode>()) return is_empty(n->body);
  if (const auto* n = s.as<AllocateNode>()) return is_empty(n->body);
  return false;
}

Stmt unswitch_loop(const Stmt& s, int conditions) {
  const auto* n = s.as<ForNode>();
  const Body body = survey(n->body);
  if (body.has_loop || conditions == kMostConditions) return s;
  const Found found = find_condition(n->body, n->var, body, true);
  if (!found.cond || (!found.is_all && body.statements > kMostCopied)) return s;
  const auto version = [&](bool value) {
    Stmt inner = assume(n->body, found.cond, value);
    if (is_empty(inner)) return make_block({});
    return unswitch_loop(make_for(n->var, n->min, n->extent, n->for_kind, std::move(inner)),
                         conditions + 1);
  };
  Stmt then_case = version(true), else_case = version(false);
  return make_if(found.cond, std::move(then_case), is_empty(else_case) ? Stmt{} : else_case);
}

}  // namespace

Stmt unswitch(const Stmt& s) {
  const Stmt mapped = map_children(
      s, [](const Expr& e) { return e; }, [](const Stmt& inner) { return unswitch(inner); });
  const auto* n = mapped.as<ForNode>();
  return n != nullptr && n->for_kind == ForKind::Serial ? unswitch_loop(mapped, 0) : mapped;
}

}  // namespace espalier
