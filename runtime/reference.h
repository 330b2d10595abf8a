// What a task's outputs should be, made once a task.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "espalier/ir/evaluate.h"
#include "espalier/runtime/result_check.h"
#include "espalier/schedule/candidate.h"
#include "espalier/schedule/task.h"
#include "espalier/support/result.h"

namespace espalier {

class Reference {
 public:
  struct Output {
    std::string name;
    DType dtype = DType::F32;
    Array value;  // f64 for floats, else of the output's own type
    Array bound;  // how far a right implementation may be off, in f64
  };

  /// What make_reference() returns; or somebody's own idea of what is right.
  explicit Reference(std::vector<Output> outputs) : outputs_(std::move(outputs)) {}

  /// One an output, in the order of dag.outputs().
  const std::vector<Output>& outputs() const { return outputs_; }
  /// The same as views of this object's arrays.
  std::vector<ExpectedOutput> expected() const;

 private:
  std::vector<Output> outputs_;
};

/// Computes the task's outputs in f64 and first-order bounds on the rounding errors of a
/// computation in the DAG's own types (ir/error_bound.h). Large tasks are compiled with the
/// schedule that `schedule` gives for the f64 task, small ones evaluated as defined. `arguments`
/// are the inputs, then the constants.
Result<Reference> make_reference(const Task& task, const std::vector<Array>& arguments,
                                 const std::function<Candidate(const Task&)>& schedule);

/// Whether outputs are right (see check_outputs).
CheckResult check(const Reference& reference, std::span<const ArrayView> outputs);

}  // namespace espalier
