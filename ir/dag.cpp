#include "espalier/ir/dag.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "espalier/ir/access.h"
#include "espalier/ir/definition.h"
#include "espalier/support/hash.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

// Tensors reachable from the outputs, producers first. Does not recurse: chains may be long.
Result<std::vector<Tensor>> order_of(const std::vector<Tensor>& outputs) {
  std::vector<Tensor> order;
  std::unordered_set<const TensorNode*> entered;
  struct Frame {
    Tensor tensor;
    std::vector<Tensor> reads;
    size_t next = 0;
  };
  std::vector<Frame> stack;
  auto enter = [&](const Tensor& t) -> Result<void> {
    if (!entered.insert(t.get()).second) return {};
    if (entered.size() > kMaxTensors) {
      return make_error(ErrorCode::OutOfRange, "a DAG has at most ", kMaxTensors,
                        " tensors; cut the program into several");
    }
    ESP_TRY_VOID(check_definition(*t));
    stack.push_back({t, tensors_read(*t)});
    return {};
  };
  for (const Tensor& output : outputs) {
    ESP_TRY_VOID(enter(output));
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == top.reads.size()) {
        order.push_back(top.tensor);
        stack.pop_back();
      } else {
        const Tensor next = top.reads[top.next++];
        ESP_TRY_VOID(enter(next));
      }
    }
  }
  return order;
}

// A tensor's bytes, at least 1 so that a product with extent 0 cannot hide a huge one.
std::optional<int64_t> bytes_with_empty_as_one(const TensorNode& t) {
  std::optional<int64_t> bytes = bytes_of(t.dtype);
  for (int64_t extent : t.shape) {
    bytes = checked_mul(*bytes, std::max<int64_t>(extent, 1));
    if (!bytes) return bytes;
  }
  return bytes;
}

Result<void> check_sizes(const std::vector<Tensor>& order) {
  constexpr int64_t kLimit = int64_t{1} << 62;
  int64_t total = 0;
  for (const Tensor& t : order) {
    const auto bytes = bytes_with_empty_as_one(*t);
    const auto sum = bytes ? checked_add(total, *bytes) : std::nullopt;
    if (!sum || *sum > kLimit) {
      return make_error(ErrorCode::OutOfRange, "'", t->name,
                        "' is too large: the tensors up to it take more than 2^62 bytes");
    }
    total = *sum;
    if (const auto* reduce = t->body.as<ReduceNode>()) {
      int64_t points = 1;
      for (const Axis& a : t->axes) points *= std::max<int64_t>(a.extent, 1);
      for (const Axis& a : reduce->axes) {
        const auto product = checked_mul(points, std::max<int64_t>(a.extent, 1));
        if (!product) {
          return make_error(ErrorCode::OutOfRange, "'", t->name,
                            "' is too large: its reduction has more than 2^63 terms");
        }
        points = *product;
      }
    }
  }
  return {};
}

// Letters, digits, '_' and inner dots, as the text forms read them.
std::string identifier_from(const std::string& name) {
  std::string id;
  for (char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    id += letter || digit ? c : '_';
  }
  if (id.empty() || (id[0] >= '0' && id[0] <= '9')) id.insert(id.begin(), 't');
  return id;
}

// The first stage that wants a name gets it, whatever suffixes others need.
void give_names(std::vector<StageInfo>& stages) {
  std::unordered_map<std::string, int> next_suffix;  // of every wanted name; 0: not yet given
  for (const StageInfo& s : stages) next_suffix.emplace(identifier_from(s.tensor->name), 0);
  std::unordered_set<std::string> taken;
  for (StageInfo& s : stages) {
    const std::string wanted = identifier_from(s.tensor->name);
    int& n = next_suffix[wanted];
    s.name = wanted;
    if (n++ > 0) {
      do {
        s.name = detail::concat(wanted, "_", n++ - 1);
      } while (taken.contains(s.name) || next_suffix.contains(s.name));
    }
    taken.insert(s.name);
  }
}

// The one axis that an index follows with coefficient 1 and no offset; -1 for the constant 0, -2
// for anything else. Axes of extent 1 are always at 0 and do not count.
int followed_axis(const LinearIndex& f, const std::vector<Axis>& axes) {
  int axis = -1;
  for (size_t a = 0; a < axes.size(); ++a) {
    if (f.coef[a] == 0 || axes[a].extent == 1) continue;
    if (f.coef[a] != 1 || axis >= 0) return -2;
    axis = static_cast<int>(a);
  }
  return f.affine && f.offset == 0 ? axis : -2;
}

bool is_own_index(const Access& access, const std::vector<Axis>& axes) {
  for (size_t d = 0; d < access.linear.size(); ++d) {
    const int own = axes[d].extent == 1 ? -1 : static_cast<int>(d);
    if (followed_axis(access.linear[d], axes) != own) return false;
  }
  return true;
}

// Dimensions are read at constants or at own axes, in the order of the axes.
bool is_broadcast(const Access& access, const std::vector<Axis>& axes) {
  int last = -1;
  for (const LinearIndex& f : access.linear) {
    const int axis = followed_axis(f, axes);
    if (axis == -2) {
      for (size_t a = 0; a < axes.size(); ++a) {
        if (!f.affine || (f.coef[a] != 0 && axes[a].extent != 1)) return false;
      }
    }
    if (axis < 0) continue;
    if (axis <= last) return false;
    last = axis;
  }
  return true;
}

bool is_elementwise(const StageInfo& s, const std::vector<StageInfo>& stages) {
  if (!s.is_compute() || s.reduce() != nullptr) return false;
  for (const Access& access : s.accesses) {
    const TensorNode& p = *stages[static_cast<size_t>(access.producer)].tensor;
    const bool same_shape = p.shape == s.tensor->shape;
    if (same_shape ? !is_own_index(access, s.axes) : !is_broadcast(access, s.axes)) return false;
  }
  return true;
}

bool has_reuse(const StageInfo& s) {
  if (s.reduce() == nullptr) return false;
  for (const Access& access : s.accesses) {
    for (size_t a = 0; a < s.axes.size(); ++a) {
      if (s.axes[a].extent <= 1) continue;
      bool used = false;
      for (const LinearIndex& f : access.linear) used = used || f.coef[a] != 0;
      if (!used) return true;
    }
  }
  return false;
}

}  // namespace

Result<ComputeDag> ComputeDag::make(std::vector<Tensor> outputs) {
  if (outputs.empty()) return make_error(ErrorCode::InvalidArgument, "a DAG needs an output");
  std::unordered_set<const TensorNode*> distinct;
  for (const Tensor& t : outputs) {
    if (!t) return make_error(ErrorCode::InvalidArgument, "an output was never defined");
    if (!distinct.insert(t.get()).second) {
      return make_error(ErrorCode::InvalidArgument, "'", t->name, "' is given twice as an output");
    }
  }
  ESP_TRY(std::vector<Tensor> order, order_of(outputs));
  for (const Tensor& t : outputs) {
    if (t->kind != TensorKind::Compute) {
      return make_error(ErrorCode::InvalidArgument, "the output '", t->name,
                        "' is an input; outputs must be computed (a copy will do)");
    }
  }
  ESP_TRY_VOID(check_sizes(order));
  for (const Tensor& t : order) {
    if (t->kind == TensorKind::Compute) ESP_TRY_VOID(check_accesses(*t));
  }

  auto impl = std::make_shared<Impl>();
  std::unordered_map<const TensorNode*, int> index;
  auto stage_of = [&](const TensorNode* t) { return index.at(t); };
  uint64_t hash = 0;
  for (const Tensor& t : order) {
    const int id = static_cast<int>(impl->stages.size());
    index.emplace(t.get(), id);
    StageInfo s;
    s.tensor = t;
    s.axes = t->axes;
    if (const auto* reduce = t->body.as<ReduceNode>()) s.reduce_axes = reduce->axes;
    if (t->kind == TensorKind::Placeholder) impl->inputs.push_back(id);
    if (t->kind == TensorKind::Constant) impl->constants.push_back(id);
    if (t->kind == TensorKind::Compute) s.accesses = find_accesses(*t, stage_of);
    for (const Access& access : s.accesses) {
      auto& consumers = impl->stages[static_cast<size_t>(access.producer)].consumers;
      if (consumers.empty() || consumers.back() != id) consumers.push_back(id);
    }
    s.elementwise = is_elementwise(s, impl->stages);
    s.anchor = has_reuse(s);
    s.flops = operations_per_element(*t);
    for (const Axis& a : s.axes) s.flops *= static_cast<double>(a.extent);
    hash = hash_combine(hash, hash_definition(*t, stage_of));
    impl->stages.push_back(std::move(s));
  }
  for (const Tensor& t : outputs) {
    const int id = index.at(t.get());
    impl->outputs.push_back(id);
    impl->stages[static_cast<size_t>(id)].is_output = true;
    hash = hash_combine(hash, static_cast<uint64_t>(id));
  }
  for (StageInfo& s : impl->stages) {
    s.inlineable = s.is_compute() && s.reduce() == nullptr && !s.is_output;
  }
  give_names(impl->stages);
  impl->hash = hash;
  ComputeDag dag;
  dag.impl_ = std::move(impl);
  return dag;
}

int ComputeDag::find(std::string_view name) const {
  for (int i = 0; i < size(); ++i) {
    if (stage(i).name == name) return i;
  }
  return -1;
}

double ComputeDag::flops() const {
  double total = 0;
  for (const StageInfo& s : stages()) total += s.flops;
  return total;
}

}  // namespace espalier
