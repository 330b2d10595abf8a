// What all contestants are given: one workload, the same arrays at the same places.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/ir/ops/op_def.h"
#include "espalier/runtime/array_arena.h"
#include "espalier/runtime/array_view.h"
#include "espalier/schedule/task.h"

namespace espalier::bench {

/// A step of an epilogue or another chain, and the array that it takes, if any.
struct ChainStep {
  std::string word;
  const ArrayView* operand = nullptr;
};

class Contest {
 public:
  /// Seeded inputs and constants, laid out by an ArrayArena. `workload`: a spec, or a file with the
  /// text of a DAG.
  static Result<Contest> make(const std::string& workload, const Target& target, int threads);

  const Task& task() const { return task_; }
  /// The operator's name; empty for the text of a DAG, which has no keys either.
  const std::string& op() const { return op_; }
  const ops::Args& keys() const { return *keys_; }

  /// The words of the key `epilogue`, and for elementwise operators the rest of their own chain in
  /// front of it, with the operands that they take. `skip` words of the chain are left out.
  std::vector<ChainStep> epilogue(size_t skip = 0) const;

  bool has_array(std::string_view name) const { return find(name) != nullptr; }
  /// An input, constant or output by its name, which the workload must have.
  const ArrayView& array(std::string_view name) const;
  const std::vector<ArrayView>& inputs() const { return inputs_; }
  const std::vector<ArrayView>& constants() const { return constants_; }
  const std::vector<ArrayView>& outputs() const { return outputs_; }

  /// Whether the outputs are right. What they should be is computed in f64, with bounds for each
  /// element; `slack`, in units of the element's own magnitude (or of 1 where it is smaller), is
  /// added for libraries whose exp or erf is an approximation.
  Result<void> check_outputs(double slack) const;

 private:
  const ArrayView* find(std::string_view name) const;

  Task task_;
  std::string op_;
  std::optional<ops::Args> keys_;
  ArrayArena arena_;
  std::vector<ArrayView> inputs_, constants_, outputs_;
};

}  // namespace espalier::bench
