// What all contestants are given: one workload, the same arrays at the same places.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "espalier/ir/ops/workload.h"
#include "espalier/runtime/array_arena.h"
#include "espalier/runtime/array_view.h"
#include "espalier/schedule/task.h"

namespace espalier::bench {

/// A step of the epilogue and the array that it takes, if any.
struct EpilogueStep {
  std::string word;
  const ArrayView* operand = nullptr;
};

class Contest {
 public:
  /// Seeded inputs and constants, laid out by an ArrayArena.
  static Result<Contest> make(const std::string& workload, const Target& target, int threads);

  const Task& task() const { return task_; }
  const std::string& op() const { return workload_.op; }

  // Keys of the workload, with what holds if they are left out.
  int64_t number(std::string_view key, int64_t otherwise) const;
  std::string word(std::string_view key, std::string_view otherwise) const;
  /// One of two keys for height and width: `kh` (or `kw`), which `k` stands for when they agree.
  int64_t either(std::string_view key, std::string_view shorthand, int64_t otherwise) const;
  double scale() const;  // of the epilogue's `scale`
  std::vector<EpilogueStep> epilogue() const;

  /// An input, constant or output by its name, which the workload must have.
  const ArrayView& array(std::string_view name) const;
  /// Inputs, then constants, as arrays that own copies.
  const std::vector<Array>& arguments() const { return arguments_; }
  const std::vector<ArrayView>& inputs() const { return inputs_; }
  const std::vector<ArrayView>& constants() const { return constants_; }
  const std::vector<ArrayView>& outputs() const { return outputs_; }

 private:
  const std::string* value(std::string_view key) const;

  Task task_;
  Workload workload_;
  std::vector<Array> arguments_;
  ArrayArena arena_;
  std::vector<ArrayView> inputs_, constants_, outputs_;
};

}  // namespace espalier::bench
