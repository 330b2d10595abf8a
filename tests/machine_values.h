// What machine code makes of given numbers.
#pragma once

#include <string_view>
#include <vector>

#include "espalier/ir/evaluate.h"
#include "espalier/schedule/state.h"

namespace espalier {

/// An array of those values, in row-major order.
Array array_of(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values);
Array filled(DType dtype, std::vector<int64_t> shape, double value);

std::vector<double> values_of(const Array& array);

/// The first output of the task's schedule on `arguments` (inputs, then constants), in machine
/// code. Aborts on errors.
std::vector<double> run(const Task& task, const Trace& trace, const std::vector<Array>& arguments);
std::vector<double> run(std::string_view dag, std::string_view trace,
                        const std::vector<Array>& arguments);

/// The same by the default schedule and the untiled nest, which must agree with each other: the
/// values of `dag`, the text of a DAG or a workload.
std::vector<double> run_untiled_and_default(std::string_view dag,
                                            const std::vector<Array>& arguments);

}  // namespace espalier
