#include "machine_values.h"

#include <cmath>

#include "espalier/ir/ops/workload.h"
#include "espalier/runtime/kernel.h"
#include "espalier/schedule/text.h"
#include "espalier/search/default_schedule.h"
#include "espalier/support/target.h"

namespace espalier {

Array array_of(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  Array a(dtype, std::move(shape));
  ESP_CHECK(a.elements() == static_cast<int64_t>(values.size()));
  for (int64_t i = 0; i < a.elements(); ++i) a.set(i, values[static_cast<size_t>(i)]);
  return a;
}

Array filled(DType dtype, std::vector<int64_t> shape, double value) {
  Array a(dtype, std::move(shape));
  for (int64_t i = 0; i < a.elements(); ++i) a.set(i, value);
  return a;
}

std::vector<double> values_of(const Array& array) {
  std::vector<double> values;
  for (int64_t i = 0; i < array.elements(); ++i) values.push_back(array.get(i));
  return values;
}

std::vector<double> run(const Task& task, const Trace& trace, const std::vector<Array>& arguments) {
  const auto inputs = arguments.begin() + static_cast<ptrdiff_t>(task.dag.inputs().size());
  const std::vector<ArrayView> constants(inputs, arguments.end());
  const Kernel kernel = compile(replay(task, trace).state()).value().bind(constants).value();
  const std::vector<Array> outputs = kernel.make_outputs();
  kernel.run({arguments.begin(), inputs}, outputs).value();
  return values_of(outputs[0]);
}

std::vector<double> run(std::string_view dag, std::string_view trace,
                        const std::vector<Array>& arguments) {
  const Task task{parse_dag(dag).value(), host_target(), 2, ""};
  return run(task, parse_trace(trace, task).value(), arguments);
}

std::vector<double> run_untiled_and_default(std::string_view dag,
                                            const std::vector<Array>& arguments) {
  const bool is_text = dag.find('\n') != std::string_view::npos;
  const Task task{(is_text ? parse_dag(dag) : load_workload(dag)).value(), host_target(), 2, ""};
  const std::vector<double> values = run(task, naive_candidate(task).trace(), arguments);
  const std::vector<double> tiled = run(task, default_candidate(task).trace(), arguments);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool both_nan = std::isnan(values[i]) && std::isnan(tiled[i]);
    ESP_CHECK(both_nan || std::abs(values[i] - tiled[i]) <= 1e-5 * std::abs(values[i]) ||
                  values[i] == tiled[i],
              "element ", i, " is ", values[i], " without a schedule and ", tiled[i], " with one");
  }
  return values;
}

}  // namespace espalier
