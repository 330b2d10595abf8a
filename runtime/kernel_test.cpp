#include "espalier/runtime/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "espalier/runtime/inputs.h"
#include "espalier/runtime/pool.h"

namespace espalier {
namespace {

using ::testing::HasSubstr;

ComputeDag matmul_dag(bool weights) {
  const Tensor a = placeholder("A", {6, 5});
  const Tensor b = weights ? constant("B", {5, 7}) : placeholder("B", {5, 7});
  const Axis k = reduce_axis("k", 5);
  const Tensor c = compute("C", {6, 7}, [&](Var i, Var j) { return sum(a(i, k) * b(k, j), k); });
  return ComputeDag::make({c}).value();
}

ComputeDag gather_dag() {
  const Tensor index = placeholder("I", {4}, DType::I32, std::pair<int64_t, int64_t>{0, 10});
  const Tensor table = placeholder("T", {10, 3});
  const Tensor y =
      compute("Y", {4, 3}, [&](Var i, Var j) { return table(cast(DType::I64, index(i)), j); });
  return ComputeDag::make({y}).value();
}

Kernel compile_trace(const ComputeDag& dag, const std::string& trace = "", int threads = 1) {
  const Task task{dag, host_target(), threads, ""};
  const Trace steps = parse_trace(trace, task).value();
  return compile(replay(task, steps).take()).value();
}

void expect_equal(const Array& got, const Array& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  for (int64_t i = 0; i < got.elements(); ++i) {
    ASSERT_NEAR(got.get(i), expected.get(i), 1e-5) << i;
  }
}

TEST(Kernel, ComputesWhatTheDefinitionSays) {
  const ComputeDag dag = matmul_dag(false);
  const std::vector<Array> inputs = make_inputs(dag, 1);
  const Kernel kernel = compile_trace(dag);
  const std::vector<Array> outputs = kernel.make_outputs();
  ASSERT_TRUE(kernel.run(inputs, outputs).ok());
  expect_equal(outputs[0], evaluate(dag, inputs).value()[0]);
}

TEST(Kernel, ConstantsAreBoundOnceAndNotNeededAfterwards) {
  const ComputeDag dag = matmul_dag(true);
  const std::vector<Array> arguments = make_inputs(dag, 1);
  const Kernel kernel = compile_trace(dag);
  Array weights(DType::F32, {5, 7});
  for (int64_t i = 0; i < 35; ++i) weights.set(i, arguments[1].get(i));
  const Kernel bound = kernel.bind({weights}).value();
  for (int64_t i = 0; i < 35; ++i) weights.set(i, -1);
  const std::vector<Array> outputs = kernel.make_outputs();
  ASSERT_TRUE(bound.run({arguments[0]}, {outputs[0]}).ok());
  expect_equal(outputs[0], evaluate(dag, arguments).value()[0]);
}

TEST(Kernel, PackedConstantsGiveTheSame) {
  const ComputeDag dag = matmul_dag(true);
  const std::vector<Array> arguments = make_inputs(dag, 1);
  const Kernel kernel =
      compile_trace(dag,
                    "C: split j -> j.0 j.1 by 4\nC: reorder i j.0 k j.1\n"
                    "C: pack_constant 1 layout [dim 1 outer 4, dim 0, dim 1 inner 4] -> B.pack\n");
  ASSERT_FALSE(kernel.lowered().pack.params.empty());
  const Kernel bound = kernel.bind({arguments[1]}).value();
  const std::vector<Array> outputs = kernel.make_outputs();
  ASSERT_TRUE(bound.run({arguments[0]}, {outputs[0]}).ok());
  expect_equal(outputs[0], evaluate(dag, arguments).value()[0]);
}

TEST(Kernel, UnboundConstantsAreAnError) {
  const ComputeDag dag = matmul_dag(true);
  const Kernel kernel = compile_trace(dag);
  EXPECT_FALSE(kernel.bound());
  const Array a(DType::F32, {6, 5}), c(DType::F32, {6, 7});
  EXPECT_THAT(kernel.run({a}, {c}).error().message, HasSubstr("constants (B) have no values"));
}

TEST(Kernel, AKernelWithoutConstantsNeedsNoBinding) {
  EXPECT_TRUE(compile_trace(matmul_dag(false)).bound());
}

TEST(Kernel, RunsInSeveralThreadsAtOnce) {
  const ComputeDag dag = matmul_dag(false);
  const std::vector<Array> inputs = make_inputs(dag, 1);
  const Kernel kernel = compile_trace(dag, "C: parallel i", 2);
  const Array expected = evaluate(dag, inputs).value()[0];
  std::vector<std::vector<Array>> outputs;
  for (int t = 0; t < 4; ++t) outputs.push_back(kernel.make_outputs());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(kernel.run(inputs, outputs[static_cast<size_t>(t)]).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Array>& one : outputs) expect_equal(one[0], expected);
}

TEST(Kernel, TheHostsPoolIsUsed) {
  const ComputeDag dag = matmul_dag(false);
  const std::vector<Array> inputs = make_inputs(dag, 1);
  const Kernel kernel = compile_trace(dag, "C: parallel i", 2);
  int calls = 0;
  espalier_context context{
      [](espalier_context* ctx, int64_t begin, int64_t end, int64_t, espalier_body fn, void* data) {
        ++*static_cast<int*>(ctx->pool);
        for (int64_t i = begin; i < end; ++i) fn(data, i, 0);
        return int32_t{0};
      },
      &calls, 2};
  const std::vector<Array> outputs = kernel.make_outputs();
  ASSERT_TRUE(kernel.run(inputs, outputs, {.context = &context}).ok());
  EXPECT_EQ(calls, 1);
  expect_equal(outputs[0], evaluate(dag, inputs).value()[0]);
}

TEST(Kernel, AHostsPoolWithTooManySlotsIsAnError) {
  const Kernel kernel = compile_trace(matmul_dag(false), "C: parallel i", 2);
  const Pool pool = Pool::make(3).value();
  espalier_context context = pool.context();
  const std::vector<Array> inputs = make_inputs(matmul_dag(false), 1);
  EXPECT_THAT(kernel.run(inputs, kernel.make_outputs(), {.context = &context}).error().message,
              HasSubstr("3 slots"));
}

TEST(Kernel, MoreThreadsThanCompiledForAreAnError) {
  const Kernel kernel = compile_trace(matmul_dag(false));
  const std::vector<Array> inputs = make_inputs(matmul_dag(false), 1);
  EXPECT_THAT(kernel.run(inputs, kernel.make_outputs(), {.threads = 9}).error().message,
              HasSubstr("cannot run on 9"));
}

TEST(Kernel, ACallersWorkspaceMustBeLargeEnough) {
  const ComputeDag dag = matmul_dag(true);
  // A copy of A's rows needs scratch memory.
  const Kernel kernel =
      compile_trace(matmul_dag(false), "C: cache_read 0 at root layout [dim 1, dim 0] -> A.pack");
  ASSERT_GT(kernel.workspace_bytes(), 64);
  const std::vector<Array> inputs = make_inputs(dag, 1);
  const Array memory(DType::F64, {kernel.workspace_bytes() / 8 + 8});
  auto* data = static_cast<std::byte*>(memory.data());
  const auto bytes = static_cast<size_t>(kernel.workspace_bytes());
  EXPECT_TRUE(kernel.run(inputs, kernel.make_outputs(), {.workspace = {data, bytes}}).ok());
  EXPECT_FALSE(kernel.run(inputs, kernel.make_outputs(), {.workspace = {data, bytes - 1}}).ok());
  EXPECT_FALSE(kernel.run(inputs, kernel.make_outputs(), {.workspace = {data + 8, bytes}}).ok());
}

// What is wrong with a call, in words.
std::string complaint(const std::vector<ArrayView>& inputs, const std::vector<ArrayView>& outputs) {
  const auto done = compile_trace(matmul_dag(false)).run(inputs, outputs);
  return done.ok() ? "" : done.error().message;
}

class KernelArguments : public ::testing::Test {
 protected:
  Array a{DType::F32, {6, 5}}, b{DType::F32, {5, 7}}, c{DType::F32, {6, 7}};
};

TEST_F(KernelArguments, NumberIsChecked) {
  EXPECT_EQ(complaint({a}, {c}), "1 inputs were given where 2 are expected: A, B");
  EXPECT_EQ(complaint({a, b}, {}), "0 outputs were given where 1 are expected: C");
}

TEST_F(KernelArguments, TypeIsChecked) {
  EXPECT_EQ(complaint({a, Array(DType::F64, {5, 7})}, {c}),
            "input 'B' is of type f64 where f32 is expected");
}

TEST_F(KernelArguments, ShapeIsChecked) {
  EXPECT_EQ(complaint({a, b}, {Array(DType::F32, {7, 6})}),
            "output 'C' has the shape [7, 6] where [6, 7] is expected");
}

TEST_F(KernelArguments, ATransposedViewIsRefused) {
  const ArrayView transposed(a.data(), DType::F32, {6, 5}, {1, 6});
  EXPECT_THAT(complaint({transposed, b}, {c}), HasSubstr("input 'A' has the strides [1, 6] where "
                                                         "[5, 1] are expected"));
}

TEST_F(KernelArguments, MissingMemoryIsNamed) {
  EXPECT_THAT(complaint({a, ArrayView(nullptr, DType::F32, {5, 7})}, {c}),
              HasSubstr("input 'B' has no memory"));
}

// Vectors are read and written as if arrays began at multiples of 64 bytes.
TEST_F(KernelArguments, MemoryAlignedToLessThan64BytesIsRefused) {
  const Array memory(DType::F32, {100});
  float* start = static_cast<float*>(memory.data());
  for (const int shift : {1, 4, 8}) {  // 4, 16 and 32 bytes
    const ArrayView input(start + shift, DType::F32, {6, 5});
    EXPECT_THAT(complaint({input, b}, {c}),
                HasSubstr("input 'A' starts at an address that is no multiple of 64"));
    const ArrayView output(start + shift, DType::F32, {6, 7});
    EXPECT_THAT(complaint({a, b}, {output}),
                HasSubstr("output 'C' starts at an address that is no multiple of 64"));
  }
  EXPECT_EQ(complaint({ArrayView(start + 16, DType::F32, {6, 5}), b}, {c}), "");
}

TEST(Kernel, AConstantAlignedToLessThan64BytesIsRefused) {
  const Array memory(DType::F32, {100});
  const ArrayView b(static_cast<float*>(memory.data()) + 8, DType::F32, {5, 7});
  const auto bound = compile_trace(matmul_dag(true)).bind(std::vector<ArrayView>{b});
  ASSERT_FALSE(bound.ok());
  EXPECT_THAT(bound.error().message,
              HasSubstr("constant 'B' starts at an address that is no multiple of 64"));
}

TEST_F(KernelArguments, AnOutputMayNotOverlapAnInput) {
  const Array memory(DType::F32, {100});
  const ArrayView input(memory.data(), DType::F32, {6, 5});
  const ArrayView output(static_cast<float*>(memory.data()) + 16, DType::F32, {6, 7});
  EXPECT_THAT(complaint({input, b}, {output}),
              HasSubstr("output 'C' shares memory with input 'A'"));
  const ArrayView apart(static_cast<float*>(memory.data()) + 32, DType::F32, {6, 7});
  EXPECT_EQ(complaint({input, b}, {apart}), "");
}

TEST_F(KernelArguments, OutputsMayNotOverlapEachOther) {
  const Tensor x = placeholder("X", {4});
  const Tensor y = compute("Y", {4}, [&](Var i) { return x(i) + 1.0f; });
  const Tensor z = compute("Z", {4}, [&](Var i) { return x(i) + 2.0f; });
  const Kernel kernel = compile_trace(ComputeDag::make({y, z}).value());
  const Array in(DType::F32, {4}), out(DType::F32, {4});
  EXPECT_THAT(kernel.run({in}, {out, out}).error().message,
              HasSubstr("output 'Z' shares memory with output 'Y'"));
}

TEST(Kernel, IndicesOutsideTheirRangeAreAnErrorThatNamesTheElement) {
  const ComputeDag dag = gather_dag();
  const Kernel kernel = compile_trace(dag);
  std::vector<Array> inputs = make_inputs(dag, 1);
  const std::vector<Array> outputs = kernel.make_outputs();
  ASSERT_TRUE(kernel.run(inputs, outputs).ok());
  expect_equal(outputs[0], evaluate(dag, inputs).value()[0]);
  Array& index = inputs[dag.stage(dag.inputs()[0]).name == "I" ? 0 : 1];
  index.set_int(2, INT32_MIN);
  EXPECT_EQ(kernel.run(inputs, outputs).error().message,
            "element [2] of input 'I' is -2147483648, outside its range [0, 10)");
  index.set_int(2, 10);
  EXPECT_FALSE(kernel.run(inputs, outputs).ok());
}

TEST(Kernel, EmptyArraysNeedNoMemory) {
  const Tensor x = placeholder("X", {0, 4});
  const Tensor y = compute("Y", {0, 4}, [&](Var i, Var j) { return x(i, j) + 1.0f; });
  const Kernel kernel = compile_trace(ComputeDag::make({y}).value());
  const ArrayView empty(nullptr, DType::F32, {0, 4});
  EXPECT_TRUE(kernel.run({empty}, {empty}).ok());
}

TEST(Kernel, CheckedArgumentsCanBeUsedForABareCall) {
  const ComputeDag dag = matmul_dag(false);
  const std::vector<Array> inputs = make_inputs(dag, 1);
  const Kernel kernel = compile_trace(dag);
  const std::vector<Array> outputs = kernel.make_outputs();
  const std::vector<ArrayView> in(inputs.begin(), inputs.end()),
      out(outputs.begin(), outputs.end());
  const std::vector<void*> arguments = kernel.arguments(in, out).value();
  alignas(64) std::byte workspace[64];
  ASSERT_LE(kernel.workspace_bytes(), 64);
  EXPECT_EQ(kernel.call(arguments.data(), workspace, nullptr), 0);
  expect_equal(outputs[0], evaluate(dag, inputs).value()[0]);
}

}  // namespace
}  // namespace espalier
