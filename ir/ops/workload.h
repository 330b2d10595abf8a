// Operators of the library by name: `matmul:m=512,n=512,k=512` and its kin.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/ir/dag.h"

namespace espalier {

// An operator and its keys. `parse_workload` gives the canonical form: keys in the order of their
// declaration, defaults left out, shorthands (`k` for equal `kh` and `kw`) where they suffice. Two
// workloads with the same canonical text are the same.
struct Workload {
  std::string op;
  std::vector<std::pair<std::string, std::string>> values;
  friend bool operator==(const Workload&, const Workload&) = default;
};

// `op:key=value,key=value`. Errors name what is unknown, missing or impossible and list what there
// is; whether the values go together is checked by make_workload.
Result<Workload> parse_workload(std::string_view spec);

// The canonical text; of an unsound workload, its keys as they stand.
std::string to_string(const Workload& workload);

// The DAG. Its output is Y; its inputs have the names that docs list (matmuls A and B,
// convolutions X and W, others X or A and B, then bias, add0, mul0, ... of the epilogue). Errors:
// values that do not go together, tensors of more than 2^40 bytes.
Result<ComputeDag> make_workload(const Workload& workload);

// From a spec, or from a file that holds the text of a DAG.
Result<ComputeDag> load_workload(std::string_view spec_or_path);

// What a DAG is called with, in the order of its definition: placeholders and constants.
struct InputInfo {
  std::string name;
  std::vector<int64_t> shape;
  DType dtype = DType::F32;
  bool constant = false;
  std::optional<std::pair<int64_t, int64_t>> value_range;
};
std::vector<InputInfo> list_inputs(const ComputeDag& dag);

// Names of all operators, in the order of the documentation.
std::vector<std::string> workload_ops();

}  // namespace espalier
