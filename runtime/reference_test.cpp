#include "espalier/runtime/reference.h"

#include <gtest/gtest.h>

#include "espalier/runtime/inputs.h"
#include "espalier/runtime/kernel.h"

namespace espalier {
namespace {

// Loops as they stand.
Candidate plain_schedule(const Task&) { return make_candidate({}); }

Task matmul_task(int64_t n, DType dtype = DType::F32) {
  const Tensor a = placeholder("A", {n, n}, dtype), b = constant("B", {n, n}, dtype);
  const Axis k = reduce_axis("k", n);
  const Tensor c = compute("C", {n, n}, [&](Var i, Var j) { return sum(a(i, k) * b(k, j), k); });
  return {ComputeDag::make({c}).value(), host_target(), 1, ""};
}

// What a kernel with the plain schedule computes.
std::vector<Array> outputs_of(const Task& task, const std::vector<Array>& arguments) {
  Kernel kernel = compile(replay(task, make_candidate({})).take()).value();
  const auto inputs = static_cast<ptrdiff_t>(task.dag.inputs().size());
  const std::vector<ArrayView> in(arguments.begin(), arguments.begin() + inputs);
  const std::vector<ArrayView> constants(arguments.begin() + inputs, arguments.end());
  kernel = kernel.bind(constants).value();
  std::vector<Array> outputs = kernel.make_outputs();
  const std::vector<ArrayView> out(outputs.begin(), outputs.end());
  EXPECT_TRUE(kernel.run(in, out).ok());
  return outputs;
}

CheckResult check_arrays(const Reference& reference, const std::vector<Array>& outputs) {
  const std::vector<ArrayView> views(outputs.begin(), outputs.end());
  return check(reference, views);
}

TEST(Reference, ARightKernelPasses) {
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::I32}) {
    const Task task = matmul_task(20, dtype);
    const std::vector<Array> arguments = make_inputs(task.dag, 3);
    const Reference reference = make_reference(task, arguments, plain_schedule).value();
    const CheckResult result = check_arrays(reference, outputs_of(task, arguments));
    EXPECT_TRUE(result.ok) << name_of(dtype) << ": " << result.message;
  }
}

TEST(Reference, ASmallErrorInOneElementIsFound) {
  const Task task = matmul_task(20);
  const std::vector<Array> arguments = make_inputs(task.dag, 3);
  const Reference reference = make_reference(task, arguments, plain_schedule).value();
  std::vector<Array> outputs = outputs_of(task, arguments);
  outputs[0].set(41, outputs[0].get(41) + 1e-3);
  const CheckResult result = check_arrays(reference, outputs);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.output, "C");
  EXPECT_EQ(result.index, (std::vector<int64_t>{2, 1}));
}

TEST(Reference, OfALargeTaskIsTheSumInF64) {
  // Large enough to be compiled.
  const Task task = matmul_task(100);
  const std::vector<Array> arguments = make_inputs(task.dag, 3);
  const Reference reference = make_reference(task, arguments, plain_schedule).value();
  for (const auto& [i, j] : {std::pair<int64_t, int64_t>{0, 0}, {7, 93}, {99, 99}}) {
    double sum = 0;
    for (int64_t k = 0; k < 100; ++k) {
      sum += arguments[0].get(i * 100 + k) * arguments[1].get(k * 100 + j);
    }
    EXPECT_NEAR(reference.outputs()[0].value.get(i * 100 + j), sum, 1e-11);
    EXPECT_GT(reference.outputs()[0].bound.get(i * 100 + j), 1e-7);
    EXPECT_LT(reference.outputs()[0].bound.get(i * 100 + j), 1e-2);
  }
}

TEST(Reference, OutputsOfAllKindsAreCovered) {
  const Tensor x = placeholder("X", {5});
  const Tensor f = compute("F", {5}, [&](Var i) { return x(i) * 3.0f; });
  const Tensor n = compute("N", {5}, [&](Var i) { return cast(DType::I32, floor(x(i) * 10.0f)); });
  const Tensor b = compute("B", {5}, [&](Var i) { return x(i) > 0.0f; });
  const Task task{ComputeDag::make({f, n, b}).value(), host_target(), 1, ""};
  const std::vector<Array> arguments = make_inputs(task.dag, 3);
  const Reference reference = make_reference(task, arguments, plain_schedule).value();
  ASSERT_EQ(reference.outputs().size(), 3u);
  const CheckResult result = check_arrays(reference, outputs_of(task, arguments));
  EXPECT_TRUE(result.ok) << result.message;
}

TEST(Reference, AScheduleThatDoesNotApplyIsDoneWithout) {
  const Task task = matmul_task(80);  // large enough to be compiled
  const std::vector<Array> arguments = make_inputs(task.dag, 3);
  const auto broken = [](const Task&) {
    Trace trace;
    trace.push_back(ComputeRootStep{77});
    return make_candidate(trace);
  };
  EXPECT_TRUE(make_reference(task, arguments, broken).ok());
}

TEST(Reference, AWrongNumberOfArgumentsIsAnError) {
  EXPECT_EQ(make_reference(matmul_task(4), {}, plain_schedule).error().code,
            ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace espalier
