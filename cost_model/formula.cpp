#include "espalier/cost_model/formula.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "espalier/support/check.h"
#include "espalier/support/hash.h"

// The evaluation is compiled for several machines and chosen when the library is loaded. Sanitizers
// are not ready yet at that moment.
#if defined(__x86_64__) && defined(__ELF__) && defined(__has_feature)
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define ESP_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#endif
#ifndef ESP_CLONES
#define ESP_CLONES
#endif

namespace espalier {
namespace {

constexpr size_t kBatch = 16;  // candidates side by side

}  // namespace

size_t FormulaBuilder::NodeHash::operator()(const Node& n) const {
  uint64_t hash = hash_combine(static_cast<uint64_t>(n.op), std::bit_cast<uint64_t>(n.number));
  hash = hash_combine(hash, static_cast<uint64_t>(n.a) << 32 | static_cast<uint32_t>(n.b));
  return hash_combine(hash, static_cast<uint64_t>(n.x) << 32 | static_cast<uint32_t>(n.y));
}

Quantity FormulaBuilder::add(const Node& node) {
  const auto [it, fresh] = known_.try_emplace(node, static_cast<int32_t>(nodes_.size()));
  if (fresh) nodes_.push_back(node);
  Quantity result;
  result.node_ = it->second;
  result.builder_ = this;
  return result;
}

Quantity FormulaBuilder::decision(int slot) {
  Node node;
  node.op = FormulaOp::Decision;
  node.a = slot;
  return add(node);
}

int32_t FormulaBuilder::node_of(const Quantity& q) {
  if (!q.is_number()) return q.node_;
  Node node;
  node.number = q.number_;
  return add(node).node_;
}

Quantity FormulaBuilder::combine(FormulaOp op, const Quantity& a, const Quantity& b,
                                 const Quantity& x, const Quantity& y) {
  FormulaBuilder* builder = nullptr;
  for (const Quantity* q : {&a, &b, &x, &y}) builder = q->builder_ ? q->builder_ : builder;
  ESP_CHECK(builder != nullptr, "numbers are computed with where they are");
  Node node;
  node.op = op;
  node.a = builder->node_of(a);
  if (op < FormulaOp::Floor || op == FormulaOp::IfLe) node.b = builder->node_of(b);
  if (op == FormulaOp::IfLe) {
    node.x = builder->node_of(x);
    node.y = builder->node_of(y);
  }
  return builder->add(node);
}

// Quantities are finite, so the short cuts change no bit but the sign of a zero.
Quantity Quantity::add(const Quantity& a, const Quantity& b) {
  if (a.is_number() && a.number_ == 0) return b;
  if (b.is_number() && b.number_ == 0) return a;
  return FormulaBuilder::combine(FormulaOp::Add, a, b);
}
Quantity Quantity::subtract(const Quantity& a, const Quantity& b) {
  if (b.is_number() && b.number_ == 0) return a;
  if (!a.is_number() && a.same_as(b)) return 0;
  return FormulaBuilder::combine(FormulaOp::Sub, a, b);
}
Quantity Quantity::multiply(const Quantity& a, const Quantity& b) {
  if (a.is_number() && (a.number_ == 0 || a.number_ == 1)) return a.number_ == 0 ? a : b;
  if (b.is_number() && (b.number_ == 0 || b.number_ == 1)) return b.number_ == 0 ? b : a;
  return FormulaBuilder::combine(FormulaOp::Mul, a, b);
}
Quantity Quantity::divide(const Quantity& a, const Quantity& b) {
  if (b.is_number() && b.number_ == 1) return a;
  if (a.is_number() && a.number_ == 0) return a;
  return FormulaBuilder::combine(FormulaOp::Div, a, b);
}
Quantity Quantity::smaller(const Quantity& a, const Quantity& b) {
  return a.same_as(b) ? a : FormulaBuilder::combine(FormulaOp::Min, a, b);
}
Quantity Quantity::larger(const Quantity& a, const Quantity& b) {
  return a.same_as(b) ? a : FormulaBuilder::combine(FormulaOp::Max, a, b);
}
Quantity Quantity::map(FormulaOp op, const Quantity& a) { return FormulaBuilder::combine(op, a); }
Quantity Quantity::choose(const Quantity& a, const Quantity& b, const Quantity& x,
                          const Quantity& y) {
  return x.same_as(y) ? x : FormulaBuilder::combine(FormulaOp::IfLe, a, b, x, y);
}

Formula::Formula(std::span<const Quantity> results) {
  const FormulaBuilder* builder = nullptr;
  for (const Quantity& q : results) builder = q.builder_ ? q.builder_ : builder;
  static const FormulaBuilder kNone;
  const std::vector<FormulaBuilder::Node>& nodes = (builder ? builder : &kNone)->nodes_;
  auto operands = [](const FormulaBuilder::Node& n) {
    const bool leaf = n.op <= FormulaOp::Decision;
    return leaf ? std::array<int32_t, 4>{-1, -1, -1, -1}
                : std::array<int32_t, 4>{n.a, n.b, n.x, n.y};
  };
  // Nodes stand after their operands: what the results need, and where each is needed last.
  constexpr int32_t kEnd = INT32_MAX;
  std::vector<int32_t> last(nodes.size(), -1);
  for (const Quantity& q : results) {
    if (!q.is_number()) last[static_cast<size_t>(q.node_)] = kEnd;
  }
  for (int32_t i = static_cast<int32_t>(nodes.size()); i-- > 0;) {
    const FormulaBuilder::Node& node = nodes[static_cast<size_t>(i)];
    if (last[static_cast<size_t>(i)] < 0) continue;
    for (int32_t o : operands(node)) {
      if (o >= 0) last[static_cast<size_t>(o)] = std::max(last[static_cast<size_t>(o)], i);
      if (o >= 0 && nodes[static_cast<size_t>(o)].op <= FormulaOp::Decision) {
        last[static_cast<size_t>(o)] = kEnd;  // filled before the code runs
      }
    }
  }
  std::vector<uint32_t> home(nodes.size(), 0), free;
  auto take = [&] {
    if (free.empty()) return registers_++;
    const uint32_t r = free.back();
    free.pop_back();
    return r;
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (last[i] < 0 || nodes[i].op > FormulaOp::Decision) continue;
    home[i] = registers_++;
    if (nodes[i].op == FormulaOp::Number) numbers_.emplace_back(home[i], nodes[i].number);
    if (nodes[i].op == FormulaOp::Decision) inputs_.emplace_back(home[i], nodes[i].a);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    const FormulaBuilder::Node& n = nodes[i];
    if (last[i] < 0 || n.op <= FormulaOp::Decision) continue;
    std::array<uint32_t, 4> from{};
    const auto ids = operands(n);
    for (size_t k = 0; k < 4; ++k) {
      from[k] = ids[k] < 0 ? 0 : home[static_cast<size_t>(ids[k])];
    }
    for (size_t k = 0; k < 4; ++k) {
      const bool again = std::find(ids.begin(), ids.begin() + k, ids[k]) != ids.begin() + k;
      if (ids[k] < 0 || again || last[static_cast<size_t>(ids[k])] != static_cast<int32_t>(i)) {
        continue;
      }
      free.push_back(from[k]);
    }
    home[i] = take();
    code_.push_back({n.op, home[i], from[0], from[1], from[2], from[3]});
  }
  for (const Quantity& q : results) {
    if (q.is_number()) {
      numbers_.emplace_back(registers_, q.number_);
      result_registers_.push_back(registers_++);
    } else {
      result_registers_.push_back(home[static_cast<size_t>(q.node_)]);
    }
  }
}

namespace {

struct Lanes {
  double v[kBatch];
};

}  // namespace

// Operands are copied before the result is written: it may take the place of one of them.
#define ESP_LANES(EXPRESSION)              \
  {                                        \
    const Lanes a = r[i.a], b = r[i.b];    \
    Lanes to;                              \
    (void)b;                               \
    for (size_t l = 0; l < kBatch; ++l) {  \
      const double p = a.v[l], q = b.v[l]; \
      (void)q;                             \
      to.v[l] = EXPRESSION;                \
    }                                      \
    r[i.to] = to;                          \
    break;                                 \
  }

ESP_CLONES static void run_batch(const FormulaInstruction* code, size_t count, Lanes* r) {
  for (size_t n = 0; n < count; ++n) {
    const FormulaInstruction& i = code[n];
    switch (i.op) {
      case FormulaOp::Number:
      case FormulaOp::Decision: break;
      case FormulaOp::Add: ESP_LANES(p + q)
      case FormulaOp::Sub: ESP_LANES(p - q)
      case FormulaOp::Mul: ESP_LANES(p * q)
      case FormulaOp::Div: ESP_LANES(p / q)
      case FormulaOp::Min: ESP_LANES(p < q ? p : q)
      case FormulaOp::Max: ESP_LANES(p > q ? p : q)
      case FormulaOp::Floor: ESP_LANES(__builtin_floor(p))
      case FormulaOp::Ceil: ESP_LANES(__builtin_ceil(p))
      case FormulaOp::Log: ESP_LANES(std::log2(1 + p))
      case FormulaOp::IfLe: {
        const Lanes a = r[i.a], b = r[i.b], x = r[i.x], y = r[i.y];
        Lanes to;
        for (size_t l = 0; l < kBatch; ++l) to.v[l] = a.v[l] <= b.v[l] ? x.v[l] : y.v[l];
        r[i.to] = to;
        break;
      }
    }
  }
}

#undef ESP_LANES

void Formula::evaluate(std::span<const int32_t> decisions, size_t slots, size_t count,
                       std::span<double> out) const {
  ESP_CHECK(decisions.size() == slots * count && out.size() == results() * count,
            "evaluate() with ", decisions.size(), " decisions and room for ", out.size());
  std::vector<Lanes> r(registers_);
  for (const auto& [to, number] : numbers_) std::fill_n(r[to].v, kBatch, number);
  for (size_t first = 0; first < count; first += kBatch) {
    const size_t here = std::min(kBatch, count - first);
    for (const auto& [to, slot] : inputs_) {
      // Lanes beyond the last candidate repeat it.
      for (size_t l = 0; l < kBatch; ++l) {
        const size_t c = first + std::min(l, here - 1);
        r[to].v[l] = decisions[c * slots + static_cast<size_t>(slot)];
      }
    }
    run_batch(code_.data(), code_.size(), r.data());
    for (size_t l = 0; l < here; ++l) {
      for (size_t k = 0; k < results(); ++k) {
        out[(first + l) * results() + k] = r[result_registers_[k]].v[l];
      }
    }
  }
}

}  // namespace espalier
