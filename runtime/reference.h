// What a task's outputs should be, made once a task.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "espalier/ir/evaluate.h"
#include "espalier/runtime/result_check.h"
#include "espalier/schedule/candidate.h"
#include "espalier/schedule/task.h"
#include "espalier/support/result.h"

namespace espalier {

class Reference {
 public:
  /// One an output, in the order of dag.outputs(). Views this object, also once it was moved.
  std::vector<ExpectedOutput> expected() const;

  /// Of output k: the value, in f64 for floats, else in the output's own type; and for floats how
  /// far a right implementation may be off (for other types an array without elements).
  const Array& value(size_t k) const { return outputs_[k].value; }
  const Array& bound(size_t k) const { return outputs_[k].bound; }

 private:
  friend Result<Reference> make_reference(const Task&, const std::vector<Array>&,
                                          const std::function<Candidate(const Task&)>&);
  struct Output {
    std::string name;
    DType dtype = DType::F32;
    Array value, bound;
  };
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
