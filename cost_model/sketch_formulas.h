// SketchFormulas: the same quantities of many candidates, with one formula a sketch.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "espalier/cost_model/shape.h"

namespace espalier {

class SketchFormulas {
 public:
  // Appends `results` quantities of a schedule. Which it computes may depend on the state's
  // structure, and on numbers through the shape alone.
  using Compute = std::function<void(const State&, const Shape&, std::vector<Quantity>&)>;
  SketchFormulas(size_t results, Compute compute)
      : results_(results), compute_(std::move(compute)) {}

  // out[i * results + k] is result k of candidates[i]; all NaN for one whose trace is rejected.
  // Where a sketch has a formula (see compile(); it is made for the first candidate of a sketch),
  // the trace is not replayed, and numbers that would be rejected go unnoticed.
  void evaluate(const Task& task, std::span<const Candidate> candidates, int threads,
                std::span<double> out) const;

  // From the state's own numbers.
  std::vector<double> evaluate(const State& state) const;
  size_t results() const { return results_; }

  // Nothing if the sketch has no slots, if it is rejected with the candidate's decisions, or if its
  // structure depends on numbers.
  std::optional<Formula> compile(const Task& task, const Candidate& candidate) const;

 private:
  struct Entry {
    std::shared_ptr<const Sketch> sketch;  // keeps its address from being used again
    std::shared_ptr<const Formula> formula;
  };
  std::shared_ptr<const Formula> formula_of(const Task& task, const Candidate& candidate) const;
  void evaluate_group(const Task& task, std::span<const Candidate> candidates,
                      std::span<const uint32_t> group, std::span<double> out) const;

  const size_t results_;
  const Compute compute_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<uint64_t, Entry> known_;
};

}  // namespace espalier
