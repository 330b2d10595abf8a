#include "espalier/ir/tensor.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "espalier/ir/mutate.h"
#include "espalier/support/hash.h"

namespace espalier {
namespace {

// Replaces lhs and rhs in a custom combiner's body; constants become vectors when the operands are.
Expr apply_custom(const Combiner& c, const Expr& e, const Expr& a, const Expr& b) {
  if (e.same_as(c.lhs)) return a;
  if (e.same_as(c.rhs)) return b;
  if (e.as<ConstNode>() != nullptr && a.type().is_vector()) {
    return make_broadcast(e, a.type().lanes);
  }
  return map_children(e, [&](const Expr& child) { return apply_custom(c, child, a, b); });
}

Tensor leaf(TensorKind kind, std::string name, std::vector<int64_t> shape, DType dtype) {
  auto node = make_ref<TensorNode>();
  node->kind = kind;
  node->name = std::move(name);
  node->dtype = dtype;
  node->shape = std::move(shape);
  return Tensor(Ref<const TensorNode>(std::move(node)));
}

// Names for the axes of a definition that gives none: i, j, k, ... without those of its reduction.
std::vector<std::string> axis_names(size_t count, const ReduceNode* reduce) {
  std::unordered_set<std::string> used;
  if (reduce != nullptr) {
    for (const Axis& a : reduce->axes) used.insert(a.var.name());
  }
  std::vector<std::string> names;
  for (int n = 0; names.size() < count; ++n) {
    std::string name(1, static_cast<char>('i' + n % 14));  // i .. v
    if (n >= 14) name += std::to_string(n / 14);
    if (used.insert(name).second) names.push_back(std::move(name));
  }
  return names;
}

bool accepts(Combiner::Kind kind, DType t) {
  switch (kind) {
    case Combiner::Kind::Sum:
    case Combiner::Kind::Prod: return t != DType::Bool;
    case Combiner::Kind::And:
    case Combiner::Kind::Or: return !is_float(t);
    case Combiner::Kind::Max:
    case Combiner::Kind::Min:
    case Combiner::Kind::Custom: return true;
  }
  ESP_UNREACHABLE("combiner kind");
}

}  // namespace

Axis reduce_axis(std::string name, int64_t extent) { return Axis{Var(std::move(name)), extent}; }

Combiner Combiner::of(Kind kind) {
  Combiner c;
  c.kind = kind;
  switch (kind) {
    case Kind::Sum: c.name = "sum"; break;
    case Kind::Prod: c.name = "prod"; break;
    case Kind::Max: c.name = "max"; break;
    case Kind::Min: c.name = "min"; break;
    case Kind::And: c.name = "and"; break;
    case Kind::Or: c.name = "or"; break;
    case Kind::Custom: c.name = "custom"; break;
  }
  return c;
}

Expr Combiner::identity(Type type) const {
  const DType t = type.dtype;
  const double inf = std::numeric_limits<double>::infinity();
  switch (kind) {
    case Kind::Sum:
    case Kind::Or: return make_number(type, 0);
    case Kind::Prod: return make_number(type, 1);
    case Kind::And: return make_int(type, t == DType::Bool ? 1 : -1);
    case Kind::Max:
      if (is_float(t)) return make_float(type, -inf);
      return make_int(type, t == DType::Bool ? 0 : int_min(t));
    case Kind::Min:
      if (is_float(t)) return make_float(type, inf);
      return make_int(type, t == DType::Bool ? 1 : int_max(t));
    case Kind::Custom:
      return type.is_vector() ? make_broadcast(custom_identity, type.lanes) : custom_identity;
  }
  ESP_UNREACHABLE("combiner kind");
}

std::optional<BinaryOp> Combiner::binary() const {
  switch (kind) {
    case Kind::Sum: return BinaryOp::Add;
    case Kind::Prod: return BinaryOp::Mul;
    case Kind::Max: return BinaryOp::Max;
    case Kind::Min: return BinaryOp::Min;
    case Kind::And: return BinaryOp::And;
    case Kind::Or: return BinaryOp::Or;
    case Kind::Custom: return std::nullopt;
  }
  ESP_UNREACHABLE("combiner kind");
}

Expr Combiner::combine(Expr a, Expr b) const {
  if (auto op = binary()) return make_binary(*op, std::move(a), std::move(b));
  return apply_custom(*this, body, a, b);
}

Expr Tensor::at(std::vector<Expr> indices) const { return make_read(*this, std::move(indices)); }

Expr poison(std::string message) {
  auto tensor = make_ref<TensorNode>();
  tensor->error = message.empty() ? "an expression was used wrongly" : std::move(message);
  auto node = make_ref<ReadNode>(Type(DType::F32));
  node->tensor = Tensor(Ref<const TensorNode>(std::move(tensor)));
  node->hash = hash_string(node->tensor->error);
  return Expr(Ref<const ExprNode>(std::move(node)));
}

const std::string* poison_message(const Expr& e) {
  const auto* read = e.as<ReadNode>();
  return read != nullptr && !read->tensor->error.empty() ? &read->tensor->error : nullptr;
}

Expr make_read(Tensor t, std::vector<Expr> indices) {
  if (!t) return poison("a tensor that was never defined is read");
  if (!t->error.empty()) return poison(t->error);
  if (indices.size() != t->shape.size()) {
    return poison(detail::concat("'", t->name, "' has ", t->shape.size(),
                                 " dimensions but is read with ", indices.size(), " indices"));
  }
  uint64_t hash = hash_combine(static_cast<uint64_t>(ExprKind::Read), hash_string(t->name));
  hash = hash_combine(hash, static_cast<uint64_t>(t->dtype));
  for (int64_t extent : t->shape) hash = hash_combine(hash, static_cast<uint64_t>(extent));
  if (t->body) hash = hash_combine(hash, t->body->hash);
  for (size_t d = 0; d < indices.size(); ++d) {
    Expr& index = indices[d];
    if (!index) return poison(detail::concat("index ", d, " of '", t->name, "' is empty"));
    if (poison_message(index) != nullptr) return index;
    if (index.type().is_vector() || is_float(index.type().dtype)) {
      return poison(detail::concat("index ", d, " of '", t->name, "' has type ",
                                   to_string(index.type()), "; an integer is needed"));
    }
    if (index.type() != kIndex) index = make_cast(kIndex, index);
    hash = hash_combine(hash, index->hash);
  }
  auto node = make_ref<ReadNode>(Type(t->dtype));
  node->tensor = std::move(t);
  node->indices = std::move(indices);
  node->hash = hash;
  return Expr(Ref<const ExprNode>(std::move(node)));
}

Expr make_reduce(Combiner c, Expr value, std::vector<Axis> axes, Expr where) {
  if (!value) return poison(detail::concat("the term of a ", c.name, " is empty"));
  if (poison_message(value) != nullptr) return value;
  if (where.get() != nullptr && poison_message(where) != nullptr) return where;
  const Type type = value.type();
  if (!accepts(c.kind, type.dtype)) {
    return poison(detail::concat("a ", c.name, " over terms of type ", to_string(type),
                                 " is not defined; cast the terms first"));
  }
  if (where.get() != nullptr && where.type() != kBool) {
    return poison(detail::concat("the condition of a ", c.name, " has type ",
                                 to_string(where.type()), "; a bool is needed"));
  }
  if (c.kind == Combiner::Kind::Custom) {
    if (!c.lhs || !c.rhs || !c.body || !c.custom_identity) {
      return poison(detail::concat("the combiner '", c.name,
                                   "' lacks its operands, its body or its identity"));
    }
    if (c.lhs.type() != type || c.rhs.type() != type || c.body.type() != type ||
        c.custom_identity.type() != type) {
      return poison(detail::concat("the combiner '", c.name, "' does not work on ", to_string(type),
                                   ", the type of its terms"));
    }
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!axes[i].var) return poison(detail::concat("an axis of a ", c.name, " is empty"));
    for (size_t j = 0; j < i; ++j) {
      if (axes[i].var.same_as(axes[j].var)) {
        return poison(detail::concat("axis '", axes[i].var.name(), "' occurs twice in a ", c.name));
      }
    }
  }
  if (axes.empty()) {  // exactly one term
    Expr one = c.kind == Combiner::Kind::Custom ? c.combine(c.custom_identity, value) : value;
    return where ? make_select(where, one, c.identity(type)) : one;
  }
  uint64_t hash = hash_combine(static_cast<uint64_t>(ExprKind::Reduce), hash_string(c.name));
  hash = hash_combine(hash, static_cast<uint64_t>(c.kind));
  if (c.body) hash = hash_combine(hash, c.body->hash);
  hash = hash_combine(hash, value->hash);
  hash = hash_combine(hash, where ? where->hash : 0);
  for (const Axis& a : axes) {
    hash = hash_combine(hash_combine(hash, a.var->hash), static_cast<uint64_t>(a.extent));
  }
  auto node = make_ref<ReduceNode>(type);
  node->combiner = std::move(c);
  node->value = std::move(value);
  node->where = std::move(where);
  node->axes = std::move(axes);
  node->hash = hash;
  return Expr(Ref<const ExprNode>(std::move(node)));
}

Expr sum(Expr value, std::vector<Axis> axes, Expr where) {
  return make_reduce(Combiner::of(Combiner::Kind::Sum), std::move(value), std::move(axes),
                     std::move(where));
}
Expr prod(Expr value, std::vector<Axis> axes, Expr where) {
  return make_reduce(Combiner::of(Combiner::Kind::Prod), std::move(value), std::move(axes),
                     std::move(where));
}
Expr max_over(Expr value, std::vector<Axis> axes, Expr where) {
  return make_reduce(Combiner::of(Combiner::Kind::Max), std::move(value), std::move(axes),
                     std::move(where));
}
Expr min_over(Expr value, std::vector<Axis> axes, Expr where) {
  return make_reduce(Combiner::of(Combiner::Kind::Min), std::move(value), std::move(axes),
                     std::move(where));
}

Tensor placeholder(std::string name, std::vector<int64_t> shape, DType dtype,
                   std::optional<std::pair<int64_t, int64_t>> value_range) {
  Tensor t = leaf(TensorKind::Placeholder, std::move(name), std::move(shape), dtype);
  if (!value_range) return t;
  auto node = make_ref<TensorNode>(*t);
  node->value_range = value_range;
  if (!is_int(dtype)) {
    node->error = detail::concat("'", t->name, "' is of type ", name_of(dtype),
                                 "; only integers may have a range of values");
  } else if (value_range->first > value_range->second) {
    node->error = detail::concat("the range of values of '", t->name, "' ends before it begins");
  }
  return Tensor(Ref<const TensorNode>(std::move(node)));
}

Tensor constant(std::string name, std::vector<int64_t> shape, DType dtype) {
  return leaf(TensorKind::Constant, std::move(name), std::move(shape), dtype);
}

Tensor compute_with_axes(std::string name, std::vector<Axis> axes, Expr body) {
  auto node = make_ref<TensorNode>();
  node->kind = TensorKind::Compute;
  node->name = std::move(name);
  node->axes = std::move(axes);
  node->shape.reserve(node->axes.size());
  for (const Axis& a : node->axes) node->shape.push_back(a.extent);
  if (!body) body = poison("its function returned an empty expression");
  if (const std::string* message = poison_message(body)) {
    node->error = detail::concat("'", node->name, "': ", *message);
  }
  node->dtype = body.type().dtype;
  node->body = std::move(body);
  return Tensor(Ref<const TensorNode>(std::move(node)));
}

Tensor compute_over(std::string name, std::vector<int64_t> shape,
                    const std::function<Expr(const std::vector<Var>&)>& body) {
  std::vector<std::string> names = axis_names(shape.size(), nullptr);
  std::vector<Var> vars;
  for (std::string& n : names) vars.emplace_back(n);
  Expr value = body(vars);
  // The names of a reduction are known only now; a nest with two loops "k" would be hard to read.
  std::vector<std::string> distinct = axis_names(shape.size(), value.as<ReduceNode>());
  if (distinct != names) {
    VarMap renamed;
    for (size_t d = 0; d < vars.size(); ++d) {
      Var fresh(distinct[d]);
      renamed.emplace(vars[d].get(), fresh);
      vars[d] = fresh;
    }
    value = substitute(value, renamed);
  }
  std::vector<Axis> axes;
  for (size_t d = 0; d < vars.size(); ++d) axes.push_back(Axis{vars[d], shape[d]});
  return compute_with_axes(std::move(name), std::move(axes), std::move(value));
}

}  // namespace espalier
