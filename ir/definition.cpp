#include "espalier/ir/definition.h"

#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "espalier/ir/children.h"
#include "espalier/support/hash.h"

namespace espalier {
namespace {

std::vector<Expr> children(const Expr& e) {
  std::vector<Expr> result;
  for_each_child(*e, [&](const Expr& child) { result.push_back(child); });
  return result;
}

// An error unless depth and size stay within their limits. Does not recurse itself.
std::optional<std::string> excess(const Expr& root) {
  struct Extent {
    int depth = 1;
    int64_t size = 1;
  };
  std::unordered_map<const ExprNode*, Extent> done;
  struct Frame {
    Expr e;
    std::vector<Expr> kids;
    size_t next = 0;
    Extent extent;
  };
  std::vector<Frame> stack;
  stack.push_back({root, children(root), 0, {}});
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.next < top.kids.size()) {
      const Expr kid = top.kids[top.next];
      auto it = done.find(kid.get());
      if (it == done.end()) {
        if (stack.size() > static_cast<size_t>(kMaxExprDepth)) break;
        stack.push_back({kid, children(kid), 0, {}});
        continue;
      }
      ++top.next;
      top.extent.depth = std::max(top.extent.depth, it->second.depth + 1);
      top.extent.size = std::min(top.extent.size + it->second.size, kMaxExprSize + 1);
      continue;
    }
    if (top.extent.depth > kMaxExprDepth) break;
    if (top.extent.size > kMaxExprSize) {
      return detail::concat("its expression has more than ", kMaxExprSize,
                            " nodes; cut it into several tensors");
    }
    done[top.e.get()] = top.extent;
    stack.pop_back();
  }
  if (stack.empty()) return std::nullopt;
  return detail::concat("its expression is nested deeper than ", kMaxExprDepth,
                        " levels; cut it into several tensors");
}

class Checker {
 public:
  explicit Checker(const TensorNode& t) : t_(t) {}

  Result<void> run() {
    if (!t_.error.empty()) return fail(t_.error);
    ESP_TRY_VOID(extents());
    if (t_.kind != TensorKind::Compute) return {};
    if (auto message = excess(t_.body)) return fail(*message);
    for (const Axis& a : t_.axes) ESP_TRY_VOID(declare(a));
    Expr body = t_.body;
    if (const auto* reduce = t_.body.as<ReduceNode>()) {
      ESP_TRY_VOID(combiner(*reduce));
      if (reduce->axes.size() > kMaxAxes) {
        return fail(detail::concat("its reduction runs over ", reduce->axes.size(), " axes, and ",
                                   kMaxAxes, " is the most"));
      }
      for (const Axis& a : reduce->axes) {
        if (a.extent < 0) {
          return fail(detail::concat("reduction axis '", a.var.name(), "' has extent ", a.extent));
        }
        ESP_TRY_VOID(declare(a));
      }
      if (reduce->where) ESP_TRY_VOID(expr(reduce->where));
      body = reduce->value;
    }
    return expr(body);
  }

 private:
  Error fail(const std::string& message) const {
    // A poisoned definition's message already begins with the tensor's name.
    const std::string name = detail::concat("'", t_.name, "'");
    if (message.starts_with(name)) return make_error(ErrorCode::InvalidArgument, message);
    return make_error(ErrorCode::InvalidArgument, name, ": ", message);
  }

  Result<void> extents() const {
    if (t_.shape.size() > kMaxAxes) {
      return fail(detail::concat("it has ", t_.shape.size(), " dimensions, and ", kMaxAxes,
                                 " is the most"));
    }
    for (size_t d = 0; d < t_.shape.size(); ++d) {
      if (t_.shape[d] < 0) {
        return fail(detail::concat("the extent of dimension ", d, " is ", t_.shape[d],
                                   "; extents are 0 or more"));
      }
    }
    return {};
  }

  Result<void> declare(const Axis& a) {
    if (!a.var.get()) return fail("one of its axes is empty");
    if (a.var.type() != kIndex) {
      return fail(detail::concat("axis '", a.var.name(), "' has type ", to_string(a.var.type()),
                                 "; axes are i64"));
    }
    if (!known_.insert(a.var.get()).second) {
      return fail(detail::concat("axis '", a.var.name(), "' is used twice"));
    }
    return {};
  }

  Result<void> combiner(const ReduceNode& reduce) {
    const Combiner& c = reduce.combiner;
    if (c.kind != Combiner::Kind::Custom) return {};
    Checker inner(t_);
    inner.known_ = {c.lhs.get(), c.rhs.get()};
    inner.reads_allowed_ = false;
    ESP_TRY_VOID(inner.expr(c.body));
    inner.known_.clear();
    return inner.expr(c.custom_identity);
  }

  Result<void> expr(const Expr& e) {
    if (!seen_.insert(e.get()).second) return {};
    if (const std::string* message = poison_message(e)) return fail(*message);
    if (e.type().is_vector()) return fail("it holds vectors, which are made by lowering only");
    switch (e.kind()) {
      case ExprKind::Var:
        if (!known_.contains(e.get())) {
          return fail(detail::concat("it uses the variable '",
                                     static_cast<const VarNode*>(e.get())->name,
                                     "', which is none of its axes"));
        }
        break;
      case ExprKind::Reduce:
        return fail("a reduction must be the whole body; give it a tensor of its own");
      case ExprKind::Read:
        if (!reads_allowed_) return fail("a combiner may not read tensors");
        break;
      case ExprKind::Load:
      case ExprKind::Ramp:
      case ExprKind::Broadcast:
      case ExprKind::LaneReduce: return fail("it holds nodes that are made by lowering only");
      case ExprKind::Const:
      case ExprKind::Cast:
      case ExprKind::Reinterpret:
      case ExprKind::Unary:
      case ExprKind::Binary:
      case ExprKind::Fma:
      case ExprKind::Select: break;
    }
    for (const Expr& child : children(e)) ESP_TRY_VOID(expr(child));
    return {};
  }

  const TensorNode& t_;
  std::unordered_set<const ExprNode*> known_, seen_;
  bool reads_allowed_ = true;
};

// Counts operations; equal expressions count once.
class Counter {
 public:
  double count(const Expr& e) {
    if (has_data_.contains(e.get())) return 0;
    for (auto [it, end] = seen_.equal_range(e->hash); it != end; ++it) {
      if (!equal(it->second, e)) continue;
      has_data_[e.get()] = has_data_[it->second.get()];
      return 0;
    }
    seen_.emplace(e->hash, e);
    if (e.kind() == ExprKind::Read) {
      has_data_[e.get()] = true;
      return 0;
    }
    double total = 0;
    bool data = is_float(e.type().dtype);
    if (const auto* s = e.as<SelectNode>()) {
      total = count(s->a) + count(s->b);
      data = data || has_data_[s->a.get()] || has_data_[s->b.get()];
    } else {
      for_each_child(*e, [&](const Expr& child) {
        total += count(child);
        data = data || has_data_[child.get()];
      });
    }
    has_data_[e.get()] = data;
    return total + (data ? own(e) : 0);
  }

 private:
  static double own(const Expr& e) {
    switch (e.kind()) {
      case ExprKind::Unary: return 1;
      case ExprKind::Binary: return is_comparison(e.as<BinaryNode>()->op) ? 0 : 1;
      case ExprKind::Fma: return 2;
      default: return 0;
    }
  }

  std::unordered_multimap<uint64_t, Expr> seen_;
  std::unordered_map<const ExprNode*, bool> has_data_;  // of every expression counted
};

class Hasher {
 public:
  explicit Hasher(const std::function<int(const TensorNode*)>& stage_of) : stage_of_(stage_of) {}

  void number(const Expr& var) { vars_.emplace(var.get(), vars_.size()); }

  uint64_t operator()(const Expr& e) {
    if (e.get() == nullptr) return 0;
    if (auto it = done_.find(e.get()); it != done_.end()) return it->second;
    uint64_t h =
        hash_combine(static_cast<uint64_t>(e.kind()), static_cast<uint64_t>(e.type().dtype));
    h = hash_combine(h, own(e));
    for_each_child(*e, [&](const Expr& child) { h = hash_combine(h, (*this)(child)); });
    done_.emplace(e.get(), h);
    return h;
  }

 private:
  uint64_t own(const Expr& e) const {
    switch (e.kind()) {
      case ExprKind::Const: {
        const auto* c = e.as<ConstNode>();
        if (!is_float(c->type.dtype)) return static_cast<uint64_t>(c->i);
        return std::isnan(c->f) ? 1 : hash_double(c->f);
      }
      case ExprKind::Var: return vars_.at(e.get());
      case ExprKind::Unary: return static_cast<uint64_t>(e.as<UnaryNode>()->op);
      case ExprKind::Binary: return static_cast<uint64_t>(e.as<BinaryNode>()->op);
      case ExprKind::Read: return static_cast<uint64_t>(stage_of_(e.as<ReadNode>()->tensor.get()));
      default: return 0;
    }
  }

  const std::function<int(const TensorNode*)>& stage_of_;
  std::unordered_map<const ExprNode*, uint64_t> vars_, done_;
};

}  // namespace

Result<void> check_definition(const TensorNode& tensor) { return Checker(tensor).run(); }

std::vector<Tensor> tensors_read(const TensorNode& tensor) {
  std::vector<Tensor> found;
  if (tensor.kind != TensorKind::Compute) return found;
  std::unordered_set<const TensorNode*> known;
  std::unordered_set<const ExprNode*> seen;
  std::function<void(const Expr&)> walk = [&](const Expr& e) {
    if (!seen.insert(e.get()).second) return;
    if (const auto* read = e.as<ReadNode>();
        read != nullptr && known.insert(read->tensor.get()).second) {
      found.push_back(read->tensor);
    }
    for_each_child(*e, walk);
  };
  walk(tensor.body);
  return found;
}

double operations_per_element(const TensorNode& tensor) {
  if (tensor.kind != TensorKind::Compute) return 0;
  Counter counter;
  const auto* reduce = tensor.body.as<ReduceNode>();
  if (reduce == nullptr) return counter.count(tensor.body);
  double terms = 1;
  for (const Axis& a : reduce->axes) terms *= static_cast<double>(a.extent);
  double combine = 1;
  if (reduce->combiner.kind == Combiner::Kind::Custom)
    combine = Counter().count(reduce->combiner.body);
  return terms * (counter.count(reduce->value) + combine);
}

uint64_t hash_definition(const TensorNode& tensor,
                         const std::function<int(const TensorNode*)>& stage_of) {
  uint64_t h =
      hash_combine(static_cast<uint64_t>(tensor.kind), static_cast<uint64_t>(tensor.dtype));
  h = hash_combine(h, tensor.shape.size());
  for (int64_t extent : tensor.shape) h = hash_combine(h, static_cast<uint64_t>(extent));
  if (tensor.value_range) {
    h = hash_combine(h, static_cast<uint64_t>(tensor.value_range->first));
    h = hash_combine(h, static_cast<uint64_t>(tensor.value_range->second));
  }
  if (tensor.kind != TensorKind::Compute) return h;
  Hasher hasher(stage_of);
  for (const Axis& a : tensor.axes) hasher.number(a.var);
  if (const auto* reduce = tensor.body.as<ReduceNode>()) {
    const Combiner& c = reduce->combiner;
    h = hash_combine(h, static_cast<uint64_t>(c.kind));
    h = hash_combine(h, c.reorderable ? 1 : 0);
    for (const Axis& a : reduce->axes) {
      hasher.number(a.var);
      h = hash_combine(h, static_cast<uint64_t>(a.extent));
    }
    if (c.kind == Combiner::Kind::Custom) {
      hasher.number(c.lhs);
      hasher.number(c.rhs);
      h = hash_combine(h, hasher(c.body));
      h = hash_combine(h, hasher(c.custom_identity));
    }
    h = hash_combine(h, hasher(reduce->where));
    return hash_combine(h, hasher(reduce->value));
  }
  return hash_combine(h, hasher(tensor.body));
}

}  // namespace espalier
