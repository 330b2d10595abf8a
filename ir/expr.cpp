#include "espalier/ir/expr.h"

#include <bit>
#include <limits>

#include "espalier/ir/buffer.h"
#include "espalier/ir/scalar_ops.h"
#include "espalier/ir/tensor.h"
#include "espalier/support/check.h"
#include "espalier/support/hash.h"

namespace espalier {
namespace {

uint64_t seed_of(ExprKind kind, Type t) {
  return hash_mix(static_cast<uint64_t>(kind) << 40 | static_cast<uint64_t>(t.dtype) << 32 |
                  static_cast<uint32_t>(t.lanes));
}

Expr make_const(Type type, ScalarBits bits) {
  auto node = make_ref<ConstNode>(type.with_lanes(1));
  if (is_float(type.dtype)) {
    node->f = double_from_bits(type.dtype, bits);
    if (node->f != node->f) node->f = std::numeric_limits<double>::quiet_NaN();
    node->hash = hash_double(node->f, seed_of(node->kind, node->type));
  } else {
    node->i = static_cast<int64_t>(bits);
    node->hash = hash_combine(seed_of(node->kind, node->type), bits);
  }
  return make_broadcast(Expr(std::move(node)), type.lanes);
}

// The constant that all lanes of `e` hold, if one.
const ConstNode* constant_of(const Expr& e) {
  if (const auto* b = e.as<BroadcastNode>()) return b->value.as<ConstNode>();
  return e.as<ConstNode>();
}

ScalarBits bits_of_const(const ConstNode& c) {
  return is_float(c.type.dtype) ? bits_from_double(c.type.dtype, c.f)
                                : static_cast<ScalarBits>(c.i);
}

}  // namespace

std::string_view name_of(UnaryOp op) {
  switch (op) {
    case UnaryOp::Neg: return "neg";
    case UnaryOp::Not: return "not";
    case UnaryOp::Abs: return "abs";
    case UnaryOp::Sqrt: return "sqrt";
    case UnaryOp::Floor: return "floor";
    case UnaryOp::Ceil: return "ceil";
    case UnaryOp::Round: return "round";
    case UnaryOp::Exp: return "exp";
    case UnaryOp::Log: return "log";
    case UnaryOp::Tanh: return "tanh";
    case UnaryOp::Erf: return "erf";
    case UnaryOp::Sigmoid: return "sigmoid";
    case UnaryOp::Rsqrt: return "rsqrt";
    case UnaryOp::Sin: return "sin";
    case UnaryOp::Cos: return "cos";
  }
  ESP_UNREACHABLE("unary op");
}

std::string_view name_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add: return "add";
    case BinaryOp::Sub: return "sub";
    case BinaryOp::Mul: return "mul";
    case BinaryOp::Div: return "div";
    case BinaryOp::FloorDiv: return "floordiv";
    case BinaryOp::FloorMod: return "floormod";
    case BinaryOp::TruncDiv: return "truncdiv";
    case BinaryOp::TruncMod: return "truncmod";
    case BinaryOp::Min: return "min";
    case BinaryOp::Max: return "max";
    case BinaryOp::Pow: return "pow";
    case BinaryOp::And: return "and";
    case BinaryOp::Or: return "or";
    case BinaryOp::Xor: return "xor";
    case BinaryOp::Shl: return "shl";
    case BinaryOp::Shr: return "shr";
    case BinaryOp::Lt: return "lt";
    case BinaryOp::Le: return "le";
    case BinaryOp::Gt: return "gt";
    case BinaryOp::Ge: return "ge";
    case BinaryOp::Eq: return "eq";
    case BinaryOp::Ne: return "ne";
  }
  ESP_UNREACHABLE("binary op");
}

void ExprNode::destroy(const ExprNode* node) {
  switch (node->kind) {
    case ExprKind::Const: delete static_cast<const ConstNode*>(node); return;
    case ExprKind::Var: delete static_cast<const VarNode*>(node); return;
    case ExprKind::Cast: delete static_cast<const CastNode*>(node); return;
    case ExprKind::Reinterpret: delete static_cast<const ReinterpretNode*>(node); return;
    case ExprKind::Unary: delete static_cast<const UnaryNode*>(node); return;
    case ExprKind::Binary: delete static_cast<const BinaryNode*>(node); return;
    case ExprKind::Fma: delete static_cast<const FmaNode*>(node); return;
    case ExprKind::Select: delete static_cast<const SelectNode*>(node); return;
    case ExprKind::Read: delete static_cast<const ReadNode*>(node); return;
    case ExprKind::Reduce: delete static_cast<const ReduceNode*>(node); return;
    case ExprKind::Load: delete static_cast<const LoadNode*>(node); return;
    case ExprKind::Ramp: delete static_cast<const RampNode*>(node); return;
    case ExprKind::Broadcast: delete static_cast<const BroadcastNode*>(node); return;
    case ExprKind::LaneReduce: delete static_cast<const LaneReduceNode*>(node); return;
  }
}

Expr Expr::number(int64_t v) { return make_index(v); }
Expr Expr::number(float v) { return make_float(DType::F32, static_cast<double>(v)); }
Expr Expr::number(double v) { return make_float(DType::F64, v); }

Var::Var(std::string name, Type type) {
  auto node = make_ref<VarNode>(type);
  node->hash = hash_string(name, seed_of(node->kind, type));
  node->name = std::move(name);
  static_cast<Expr&>(*this) = Expr(std::move(node));
}

Expr make_int(Type type, int64_t value) {
  ESP_CHECK(!is_float(type.dtype), "make_int of ", to_string(type));
  return make_const(type, bits_from_int(type.dtype, value));
}

Expr make_float(Type type, double value) {
  ESP_CHECK(is_float(type.dtype), "make_float of ", to_string(type));
  return make_const(type, bits_from_double(type.dtype, value));
}

Expr make_number(Type type, double value) {
  return make_const(type, bits_from_double(type.dtype, value));
}

Expr make_bool(bool value) { return make_const(kBool, value); }

Expr make_unary(UnaryOp op, Expr a) {
  const Type t = a.type();
  ESP_CHECK(is_defined(op, t.dtype), name_of(op), " of ", to_string(t));
  if (const ConstNode* c = constant_of(a)) {
    return make_const(t, apply(op, t.dtype, bits_of_const(*c)));
  }
  auto node = make_ref<UnaryNode>(t);
  node->op = op;
  node->hash = hash_combine(seed_of(node->kind, t) + static_cast<uint64_t>(op), a->hash);
  node->a = std::move(a);
  return Expr(std::move(node));
}

Expr make_binary(BinaryOp op, Expr a, Expr b) {
  const Type t = a.type();
  ESP_CHECK(t == b.type(), name_of(op), " of ", to_string(t), " and ", to_string(b.type()));
  ESP_CHECK(is_defined(op, t.dtype), name_of(op), " of ", to_string(t));
  const Type result = is_comparison(op) ? t.with_dtype(DType::Bool) : t;
  const ConstNode* ca = constant_of(a);
  if (const ConstNode* cb = ca != nullptr ? constant_of(b) : nullptr) {
    return make_const(result, apply(op, t.dtype, bits_of_const(*ca), bits_of_const(*cb)));
  }
  auto node = make_ref<BinaryNode>(result);
  node->op = op;
  node->hash = hash_combine(
      hash_combine(seed_of(node->kind, result) + static_cast<uint64_t>(op), a->hash), b->hash);
  node->a = std::move(a);
  node->b = std::move(b);
  return Expr(std::move(node));
}

Expr make_fma(Expr a, Expr b, Expr c) {
  const Type t = a.type();
  ESP_CHECK(is_float(t.dtype) && t == b.type() && t == c.type(), "fma of ", to_string(t), ", ",
            to_string(b.type()), " and ", to_string(c.type()));
  const ConstNode *ca = constant_of(a), *cb = constant_of(b), *cc = constant_of(c);
  if (ca != nullptr && cb != nullptr && cc != nullptr) {
    return make_const(
        t, apply_fma(t.dtype, bits_of_const(*ca), bits_of_const(*cb), bits_of_const(*cc)));
  }
  auto node = make_ref<FmaNode>(t);
  node->hash =
      hash_combine(hash_combine(hash_combine(seed_of(node->kind, t), a->hash), b->hash), c->hash);
  node->a = std::move(a);
  node->b = std::move(b);
  node->c = std::move(c);
  return Expr(std::move(node));
}

Expr make_select(Expr cond, Expr a, Expr b) {
  const Type t = a.type();
  ESP_CHECK(t == b.type() && (cond.type() == kBool || cond.type() == t.with_dtype(DType::Bool)),
            "select of ", to_string(t), " and ", to_string(b.type()), " by ",
            to_string(cond.type()));
  if (const ConstNode* c = constant_of(cond)) return c->i != 0 ? a : b;
  auto node = make_ref<SelectNode>(t);
  node->hash = hash_combine(hash_combine(hash_combine(seed_of(node->kind, t), cond->hash), a->hash),
                            b->hash);
  node->cond = std::move(cond);
  node->a = std::move(a);
  node->b = std::move(b);
  return Expr(std::move(node));
}

Expr make_cast(Type type, Expr value) {
  const Type from = value.type();
  ESP_CHECK(type.lanes == from.lanes, "cast of ", to_string(from), " to ", to_string(type));
  if (type == from) return value;
  if (const ConstNode* c = constant_of(value)) {
    return make_const(type, apply_cast(from.dtype, type.dtype, bits_of_const(*c)));
  }
  auto node = make_ref<CastNode>(type);
  node->hash = hash_combine(seed_of(node->kind, type), value->hash);
  node->value = std::move(value);
  return Expr(std::move(node));
}

Expr make_reinterpret(Type type, Expr value) {
  const Type from = value.type();
  ESP_CHECK(type.lanes == from.lanes && bits_of(type.dtype) == bits_of(from.dtype),
            "reinterpretation of ", to_string(from), " as ", to_string(type));
  if (type == from) return value;
  if (const ConstNode* c = constant_of(value)) {
    return make_const(type, apply_reinterpret(from.dtype, type.dtype, bits_of_const(*c)));
  }
  auto node = make_ref<ReinterpretNode>(type);
  node->hash = hash_combine(seed_of(node->kind, type), value->hash);
  node->value = std::move(value);
  return Expr(std::move(node));
}

Expr make_ramp(Expr base, int64_t stride, int lanes) {
  ESP_CHECK(lanes >= 1 && !base.type().is_vector() && is_int(base.type().dtype), "ramp of ",
            to_string(base.type()), " over ", lanes, " lanes");
  if (lanes == 1) return base;
  auto node = make_ref<RampNode>(base.type().with_lanes(lanes));
  node->hash = hash_combine(hash_combine(seed_of(node->kind, node->type), base->hash),
                            static_cast<uint64_t>(stride));
  node->base = std::move(base);
  node->stride = stride;
  return Expr(std::move(node));
}

Expr make_broadcast(Expr value, int lanes) {
  ESP_CHECK(lanes >= 1 && !value.type().is_vector(), "broadcast of ", to_string(value.type()),
            " to ", lanes, " lanes");
  if (lanes == 1) return value;
  auto node = make_ref<BroadcastNode>(value.type().with_lanes(lanes));
  node->hash = hash_combine(seed_of(node->kind, node->type), value->hash);
  node->value = std::move(value);
  return Expr(std::move(node));
}

Expr make_lane_reduce(BinaryOp op, Expr value) {
  using enum BinaryOp;
  const Type t = value.type();
  ESP_CHECK((op == Add || op == Mul || op == Min || op == Max || op == And || op == Or) &&
                is_defined(op, t.dtype),
            "lane reduction of ", to_string(t), " by ", name_of(op));
  if (!t.is_vector()) return value;
  auto node = make_ref<LaneReduceNode>(t.with_lanes(1));
  node->op = op;
  node->hash =
      hash_combine(seed_of(node->kind, node->type) + static_cast<uint64_t>(op), value->hash);
  node->value = std::move(value);
  return Expr(std::move(node));
}

bool is_const_int(const Expr& e, int64_t* value) {
  if (!e || is_float(e.type().dtype)) return false;
  const ConstNode* c = constant_of(e);
  if (c == nullptr) return false;
  if (value != nullptr) *value = c->i;
  return true;
}

namespace {

bool equal(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!espalier::equal(a[i], b[i])) return false;
  }
  return true;
}

bool equal_combiners(const Combiner& a, const Combiner& b) {
  if (a.kind != b.kind || a.reorderable != b.reorderable) return false;
  // A custom combiner is compared with its own variables: as written, not up to renaming.
  return a.kind != Combiner::Kind::Custom ||
         (a.lhs.same_as(b.lhs) && a.rhs.same_as(b.rhs) && espalier::equal(a.body, b.body) &&
          espalier::equal(a.custom_identity, b.custom_identity));
}

bool equal_axes(const std::vector<Axis>& a, const std::vector<Axis>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].var.same_as(b[i].var) || a[i].extent != b[i].extent) return false;
  }
  return true;
}

}  // namespace

bool equal(const Expr& a, const Expr& b) {
  if (a.get() == b.get()) return true;
  if (!a || !b || a->hash != b->hash || a.kind() != b.kind() || a.type() != b.type()) return false;
  switch (a.kind()) {
    case ExprKind::Const: {
      const auto *x = a.as<ConstNode>(), *y = b.as<ConstNode>();
      return x->i == y->i && std::bit_cast<uint64_t>(x->f) == std::bit_cast<uint64_t>(y->f);
    }
    case ExprKind::Var: return false;
    case ExprKind::Cast: return equal(a.as<CastNode>()->value, b.as<CastNode>()->value);
    case ExprKind::Reinterpret:
      return equal(a.as<ReinterpretNode>()->value, b.as<ReinterpretNode>()->value);
    case ExprKind::Unary: {
      const auto *x = a.as<UnaryNode>(), *y = b.as<UnaryNode>();
      return x->op == y->op && equal(x->a, y->a);
    }
    case ExprKind::Binary: {
      const auto *x = a.as<BinaryNode>(), *y = b.as<BinaryNode>();
      return x->op == y->op && equal(x->a, y->a) && equal(x->b, y->b);
    }
    case ExprKind::Fma: {
      const auto *x = a.as<FmaNode>(), *y = b.as<FmaNode>();
      return equal(x->a, y->a) && equal(x->b, y->b) && equal(x->c, y->c);
    }
    case ExprKind::Select: {
      const auto *x = a.as<SelectNode>(), *y = b.as<SelectNode>();
      return equal(x->cond, y->cond) && equal(x->a, y->a) && equal(x->b, y->b);
    }
    case ExprKind::Read: {
      const auto *x = a.as<ReadNode>(), *y = b.as<ReadNode>();
      return x->tensor.get() == y->tensor.get() && equal(x->indices, y->indices);
    }
    case ExprKind::Reduce: {
      const auto *x = a.as<ReduceNode>(), *y = b.as<ReduceNode>();
      return equal_combiners(x->combiner, y->combiner) && equal_axes(x->axes, y->axes) &&
             equal(x->value, y->value) && equal(x->where, y->where);
    }
    case ExprKind::Load: {
      const auto *x = a.as<LoadNode>(), *y = b.as<LoadNode>();
      return x->buffer.get() == y->buffer.get() && x->flat == y->flat &&
             equal(x->indices, y->indices) && equal(x->predicate, y->predicate);
    }
    case ExprKind::Ramp: {
      const auto *x = a.as<RampNode>(), *y = b.as<RampNode>();
      return x->stride == y->stride && equal(x->base, y->base);
    }
    case ExprKind::Broadcast:
      return equal(a.as<BroadcastNode>()->value, b.as<BroadcastNode>()->value);
    case ExprKind::LaneReduce: {
      const auto *x = a.as<LaneReduceNode>(), *y = b.as<LaneReduceNode>();
      return x->op == y->op && equal(x->value, y->value);
    }
  }
  ESP_UNREACHABLE("expression kind");
}

}  // namespace espalier
