// For tests: an operator of the library run on small numbers.
#pragma once

#include <gtest/gtest.h>

#include "espalier/ir/evaluate.h"
#include "espalier/ir/ops/workload.h"

namespace espalier {

inline std::string workload_error(std::string_view spec) {
  Result<Workload> workload = parse_workload(spec);
  if (!workload.ok()) return workload.error().message;
  Result<ComputeDag> dag = make_workload(*workload);
  return dag.ok() ? "no error" : dag.error().message;
}

inline Array array_of(const StageInfo& stage, const std::vector<double>& values) {
  Array a(stage.tensor->dtype, stage.tensor->shape);
  EXPECT_EQ(a.elements(), static_cast<int64_t>(values.size())) << stage.name;
  for (int64_t i = 0; i < std::min(a.elements(), static_cast<int64_t>(values.size())); ++i) {
    a.set(i, values[static_cast<size_t>(i)]);
  }
  return a;
}

// Evaluates with the inputs and then the constants given in the order of the DAG's.
inline Result<std::vector<Array>> evaluate_values(const ComputeDag& dag,
                                                  const std::vector<std::vector<double>>& args) {
  std::vector<int> leaves = dag.inputs();
  leaves.insert(leaves.end(), dag.constants().begin(), dag.constants().end());
  EXPECT_EQ(leaves.size(), args.size());
  std::vector<Array> arrays;
  for (size_t i = 0; i < std::min(leaves.size(), args.size()); ++i) {
    arrays.push_back(array_of(dag.stage(leaves[i]), args[i]));
  }
  return evaluate(dag, arrays);
}

inline std::vector<double> values_of(const Array& a) {
  std::vector<double> values;
  for (int64_t i = 0; i < a.elements(); ++i) values.push_back(a.get(i));
  return values;
}

inline std::vector<double> run_spec(std::string_view spec,
                                    const std::vector<std::vector<double>>& args) {
  Result<ComputeDag> dag = load_workload(spec);
  EXPECT_TRUE(dag.ok()) << to_string(dag.error());
  if (!dag.ok()) return {};
  Result<std::vector<Array>> out = evaluate_values(*dag, args);
  EXPECT_TRUE(out.ok()) << to_string(out.error());
  return out.ok() ? values_of(out->at(0)) : std::vector<double>();
}

// first, first + 1, ...
inline std::vector<double> counting(size_t count, double first = 1) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(first + static_cast<double>(i));
  return values;
}

}  // namespace espalier
