#include "espalier/runtime/reference.h"

#include "espalier/ir/error_bound.h"
#include "espalier/runtime/kernel.h"

namespace espalier {
namespace {

// Operations up to which evaluating the definition takes less time than compiling it.
constexpr double kNaiveFlops = 1e6;

// Floats as f64, the others as they are.
Array widened(const Array& array) {
  if (!is_float(array.dtype()) || array.dtype() == DType::F64) return array;
  Array wide(DType::F64, array.shape());
  auto* to = static_cast<double*>(wide.data());
  for (int64_t i = 0; i < array.elements(); ++i) to[i] = array.get(i);
  return wide;
}

Result<std::vector<Array>> run_compiled(const Task& task, const std::vector<Array>& arguments,
                                        const std::function<Candidate(const Task&)>& schedule) {
  const Replayed replayed = replay(task, schedule(task));
  if (!replayed.ok()) {
    return make_error(ErrorCode::Internal, "the schedule for the reference does not apply");
  }
  ESP_TRY(Kernel kernel, compile(replayed.state()));
  const auto inputs = static_cast<ptrdiff_t>(task.dag.inputs().size());
  const std::vector<ArrayView> in(arguments.begin(), arguments.begin() + inputs);
  const std::vector<ArrayView> constants(arguments.begin() + inputs, arguments.end());
  ESP_TRY(kernel, kernel.bind(constants));
  const std::vector<Array> outputs = kernel.make_outputs();
  const std::vector<ArrayView> out(outputs.begin(), outputs.end());
  ESP_TRY_VOID(kernel.run(in, out));
  return outputs;
}

}  // namespace

Result<Reference> make_reference(const Task& task, const std::vector<Array>& arguments,
                                 const std::function<Candidate(const Task&)>& schedule) {
  const ComputeDag& dag = task.dag;
  if (arguments.size() != dag.inputs().size() + dag.constants().size()) {
    return make_error(ErrorCode::InvalidArgument, arguments.size(), " arrays were given for ",
                      dag.inputs().size() + dag.constants().size(), " inputs and constants");
  }
  ESP_TRY(ComputeDag bounded, with_error_bounds(dag));
  const Task bounded_task{std::move(bounded), task.target, task.threads, {}};
  std::vector<Array> wide;
  wide.reserve(arguments.size());
  for (const Array& array : arguments) wide.push_back(widened(array));

  auto results = bounded_task.dag.flops() > kNaiveFlops
                     ? run_compiled(bounded_task, wide, schedule)
                     : Result<std::vector<Array>>(make_error(ErrorCode::Unsupported, ""));
  // Slow, but a task that cannot be compiled this way can still be checked.
  if (!results.ok()) results = evaluate(bounded_task.dag, wide);
  if (!results.ok()) return with_note(std::move(results).error(), "while making the reference");

  const size_t n = dag.outputs().size();
  ESP_CHECK(results->size() == 2 * n);
  std::vector<Reference::Output> outputs;
  for (size_t k = 0; k < n; ++k) {
    const StageInfo& stage = dag.stage(dag.outputs()[k]);
    outputs.push_back({stage.name, stage.tensor->dtype, (*results)[k], (*results)[n + k]});
  }
  return Reference(std::move(outputs));
}

std::vector<ExpectedOutput> Reference::expected() const {
  std::vector<ExpectedOutput> expected;
  expected.reserve(outputs_.size());
  for (const Output& output : outputs_) {
    expected.push_back({output.name, output.dtype, output.value.shape(), output.value.data(),
                        static_cast<const double*>(output.bound.data())});
  }
  return expected;
}

CheckResult check(const Reference& reference, std::span<const ArrayView> outputs) {
  return check_outputs(reference.expected(), outputs);
}

}  // namespace espalier
