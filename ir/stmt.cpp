#include "espalier/ir/stmt.h"

#include "espalier/support/check.h"

namespace espalier {

void StmtNode::destroy(const StmtNode* node) {
  switch (node->kind) {
    case StmtKind::For: delete static_cast<const ForNode*>(node); return;
    case StmtKind::Store: delete static_cast<const StoreNode*>(node); return;
    case StmtKind::If: delete static_cast<const IfNode*>(node); return;
    case StmtKind::Let: delete static_cast<const LetNode*>(node); return;
    case StmtKind::Block: delete static_cast<const BlockNode*>(node); return;
    case StmtKind::Allocate: delete static_cast<const AllocateNode*>(node); return;
    case StmtKind::Prefetch: delete static_cast<const PrefetchNode*>(node); return;
  }
}

Stmt make_for(Var var, Expr min, Expr extent, ForKind kind, Stmt body, bool partition) {
  ESP_CHECK(var.type() == kIndex && min.type() == kIndex && extent.type() == kIndex, "loop over ",
            var.name());
  auto node = make_ref<ForNode>();
  node->var = std::move(var);
  node->min = std::move(min);
  node->extent = std::move(extent);
  node->for_kind = kind;
  node->partition = partition;
  node->body = std::move(body);
  return Stmt(std::move(node));
}

namespace {

Stmt make_store_node(Buffer buffer, std::vector<Expr> indices, Expr value, Expr predicate,
                     bool non_temporal, bool flat) {
  const Type t{buffer->dtype, lanes_of(indices)};
  ESP_CHECK(value.type() == t, "store of ", to_string(value.type()), " as ", to_string(t), " into ",
            buffer->name);
  if (predicate) {
    ESP_CHECK(predicate.type() == kBool || predicate.type() == t.with_dtype(DType::Bool),
              "predicate of type ", to_string(predicate.type()), " for ", to_string(t));
  }
  auto node = make_ref<StoreNode>();
  node->buffer = std::move(buffer);
  node->indices = std::move(indices);
  node->value = std::move(value);
  node->predicate = std::move(predicate);
  node->flat = flat;
  node->non_temporal = non_temporal;
  return Stmt(std::move(node));
}

}  // namespace

Stmt make_store(Buffer buffer, std::vector<Expr> indices, Expr value, Expr predicate,
                bool non_temporal) {
  ESP_CHECK(indices.size() == buffer->shape.size(), indices.size(), " indices into ", buffer->name,
            " of rank ", buffer->shape.size());
  return make_store_node(std::move(buffer), std::move(indices), std::move(value),
                         std::move(predicate), non_temporal, false);
}

Stmt make_flat_store(Buffer buffer, Expr offset, Expr value, Expr predicate, bool non_temporal) {
  return make_store_node(std::move(buffer), {std::move(offset)}, std::move(value),
                         std::move(predicate), non_temporal, true);
}

Stmt make_if(Expr cond, Stmt then_case, Stmt else_case) {
  ESP_CHECK(cond.type() == kBool, "if of ", to_string(cond.type()));
  auto node = make_ref<IfNode>();
  node->cond = std::move(cond);
  node->then_case = std::move(then_case);
  node->else_case = std::move(else_case);
  return Stmt(std::move(node));
}

Stmt make_let(Var var, Expr value, Stmt body) {
  ESP_CHECK(var.type() == value.type(), "let ", var.name(), " of type ", to_string(var.type()),
            " = ", to_string(value.type()));
  auto node = make_ref<LetNode>();
  node->var = std::move(var);
  node->value = std::move(value);
  node->body = std::move(body);
  return Stmt(std::move(node));
}

namespace {

void flatten_into(std::vector<Stmt>& flat, Stmt s) {
  if (!s) return;
  if (const auto* block = s.as<BlockNode>()) {
    for (const Stmt& inner : block->stmts) flatten_into(flat, inner);
  } else {
    flat.push_back(std::move(s));
  }
}

}  // namespace

Stmt make_block(std::vector<Stmt> stmts) {
  auto node = make_ref<BlockNode>();
  for (Stmt& s : stmts) flatten_into(node->stmts, std::move(s));
  if (node->stmts.size() == 1) return node->stmts[0];
  return Stmt(std::move(node));
}

Stmt make_allocate(Buffer buffer, Stmt body) {
  auto node = make_ref<AllocateNode>();
  node->buffer = std::move(buffer);
  node->body = std::move(body);
  return Stmt(std::move(node));
}

Stmt make_prefetch(Buffer buffer, std::vector<Expr> indices, bool for_write, int locality,
                   bool flat) {
  ESP_CHECK(flat || indices.size() == buffer->shape.size(), "prefetch of ", buffer->name);
  ESP_CHECK(lanes_of(indices) == 1, "prefetch of a vector of ", buffer->name);
  auto node = make_ref<PrefetchNode>();
  node->buffer = std::move(buffer);
  node->indices = std::move(indices);
  node->flat = flat;
  node->for_write = for_write;
  node->locality = locality;
  return Stmt(std::move(node));
}

}  // namespace espalier
