#include "espalier/cost_model/sketch_formulas.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "espalier/support/check.h"
#include "espalier/support/hash.h"
#include "espalier/support/parallel.h"

namespace espalier {
namespace {

constexpr size_t kMostFormulas = 4096;
constexpr size_t kGroup = 256;  // candidates that a thread takes at once

// Formulas are the same for two tasks only where program, target and threads are.
uint64_t key_of(const Task& task, const Sketch* sketch) {
  uint64_t key = hash_combine(task.dag.hash(), hash_string(to_string(task.target)));
  key = hash_combine(key, static_cast<uint64_t>(task.threads));
  return hash_combine(key, std::bit_cast<uintptr_t>(sketch));
}

}  // namespace

std::vector<double> SketchFormulas::evaluate(const State& state) const {
  std::vector<Quantity> quantities;
  compute_(state, shape_of(state), quantities);
  ESP_CHECK(quantities.size() == results_, quantities.size(), " results instead of ", results_);
  std::vector<double> numbers;
  for (const Quantity& q : quantities) numbers.push_back(q.number());
  return numbers;
}

std::optional<Formula> SketchFormulas::compile(const Task& task, const Candidate& candidate) const {
  if (candidate.sketch->slots.empty()) return std::nullopt;
  FormulaBuilder builder;
  const std::optional<SketchShape> shape =
      shape_of(task, *candidate.sketch, candidate.decisions, builder);
  if (!shape) return std::nullopt;
  for (const StageShape& stage : shape->shape) {
    for (const Quantity& unrolled : stage.unrolled) {
      if (!unrolled.is_number()) return std::nullopt;
    }
  }
  std::vector<Quantity> quantities;
  compute_(shape->state, shape->shape, quantities);
  ESP_CHECK(quantities.size() == results_, quantities.size(), " results instead of ", results_);
  return Formula(quantities);
}

std::shared_ptr<const Formula> SketchFormulas::formula_of(const Task& task,
                                                          const Candidate& candidate) const {
  const uint64_t key = key_of(task, candidate.sketch.get());
  {
    const std::lock_guard lock(mutex_);
    const auto it = known_.find(key);
    if (it != known_.end()) return it->second.formula;
  }
  std::shared_ptr<const Formula> formula;
  if (std::optional<Formula> made = compile(task, candidate)) {
    formula = std::make_shared<const Formula>(std::move(*made));
  }
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostFormulas) known_.clear();
  known_.try_emplace(key, Entry{candidate.sketch, formula});
  return formula;
}

void SketchFormulas::evaluate_group(const Task& task, std::span<const Candidate> candidates,
                                    std::span<const uint32_t> group, std::span<double> out) const {
  const std::shared_ptr<const Formula> formula = formula_of(task, candidates[group[0]]);
  const size_t slots = candidates[group[0]].sketch->slots.size();
  if (formula != nullptr) {
    std::vector<int32_t> decisions(group.size() * slots);
    std::vector<double> results(group.size() * results_);
    for (size_t i = 0; i < group.size(); ++i) {
      const std::vector<int32_t>& own = candidates[group[i]].decisions;
      std::copy_n(own.begin(), slots, decisions.begin() + static_cast<ptrdiff_t>(i * slots));
    }
    formula->evaluate(decisions, slots, group.size(), results);
    for (size_t i = 0; i < group.size(); ++i) {
      std::copy_n(results.begin() + static_cast<ptrdiff_t>(i * results_), results_,
                  out.begin() + static_cast<ptrdiff_t>(group[i] * results_));
    }
    return;
  }
  for (uint32_t i : group) {
    const Replayed replayed = replay(task, candidates[i]);
    if (!replayed) continue;
    const std::vector<double> results = evaluate(replayed.state());
    std::copy(results.begin(), results.end(), out.begin() + static_cast<ptrdiff_t>(i * results_));
  }
}

void SketchFormulas::evaluate(const Task& task, std::span<const Candidate> candidates, int threads,
                              std::span<double> out) const {
  ESP_CHECK(out.size() == candidates.size() * results_, "room for ", out.size(), " numbers");
  std::fill(out.begin(), out.end(), std::numeric_limits<double>::quiet_NaN());
  std::vector<uint32_t> order;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& c = candidates[i];
    if (c.sketch != nullptr && c.decisions.size() == c.sketch->slots.size()) {
      order.push_back(static_cast<uint32_t>(i));
    }
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const Sketch *x = candidates[a].sketch.get(), *y = candidates[b].sketch.get();
    return x != y ? x < y : a < b;
  });
  std::vector<std::span<const uint32_t>> groups;
  for (size_t first = 0; first < order.size();) {
    size_t end = first;
    while (end < order.size() && end - first < kGroup &&
           candidates[order[end]].sketch == candidates[order[first]].sketch) {
      ++end;
    }
    groups.emplace_back(order.data() + first, end - first);
    first = end;
  }
  parallel_for(threads, groups.size(),
               [&](size_t g) { evaluate_group(task, candidates, groups[g], out); });
}

}  // namespace espalier
