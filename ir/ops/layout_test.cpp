// layout=nchw against the same operator with channels last, whose data are moved.
#include <gmock/gmock.h>

#include "espalier/ir/ops/test_spec.h"

namespace espalier {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::vector<double> small(int64_t count, int seed) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<double>((i * 7 + seed) % 11 - 5));
  }
  return values;
}

// Axis d of the result is axis perm[d] of the values.
std::vector<double> moved(const std::vector<double>& values, const std::vector<int64_t>& shape,
                          const std::vector<size_t>& perm) {
  std::vector<int64_t> strides(shape.size(), 1), at(shape.size(), 0);
  for (size_t d = shape.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * shape[d + 1];
  std::vector<double> result;
  while (result.size() < values.size()) {
    int64_t from = 0;
    for (size_t d = 0; d < perm.size(); ++d) from += at[d] * strides[perm[d]];
    result.push_back(values[static_cast<size_t>(from)]);
    for (size_t d = perm.size(); d-- > 0;) {
      if (++at[d] < shape[perm[d]]) break;
      at[d] = 0;
    }
  }
  return result;
}

// The inputs with channels last, by the order of their axes with channels second.
struct Moves {
  std::vector<size_t> x, w, y;
};
const Moves k2d = {{0, 3, 1, 2}, {3, 2, 0, 1}, {0, 3, 1, 2}};

void expect_same(const std::string& spec, const Moves& moves) {
  const ComputeDag last = load_workload(spec).value();
  const auto inputs = list_inputs(last);
  std::vector<std::vector<double>> args, second_args;
  for (size_t i = 0; i < inputs.size(); ++i) {
    int64_t count = 1;
    for (int64_t e : inputs[i].shape) count *= e;
    args.push_back(small(count, static_cast<int>(i)));
    const std::vector<size_t>& move = i == 0 ? moves.x : moves.w;
    const bool moves_axes = move.size() == inputs[i].shape.size();  // vectors stay
    second_args.push_back(moves_axes ? moved(args[i], inputs[i].shape, move) : args[i]);
  }
  const std::vector<int64_t>& shape = last.stage(last.outputs()[0]).tensor->shape;
  const Result<ComputeDag> first = load_workload(spec + ",layout=nchw");
  ASSERT_TRUE(first.ok()) << to_string(first.error());
  // Placeholders come before constants in either.
  const auto run = [](const ComputeDag& dag, const std::vector<std::vector<double>>& values) {
    const auto infos = list_inputs(dag);
    std::vector<std::vector<double>> ordered;
    for (bool constant : {false, true}) {
      for (size_t i = 0; i < infos.size(); ++i) {
        if (infos[i].constant == constant) ordered.push_back(values[i]);
      }
    }
    return values_of(evaluate_values(dag, ordered).value().at(0));
  };
  EXPECT_THAT(run(*first, second_args), ElementsAreArray(moved(run(last, args), shape, moves.y)))
      << spec;
}

TEST(LayoutOp, Convolutions) {
  expect_same("conv2d:n=2,h=5,w=4,ci=3,co=2,kh=3,kw=2,s=2,p=1", k2d);
  expect_same("conv2d:n=1,h=5,w=7,ci=4,co=6,k=3,d=2,pt=1,pr=2,g=2", k2d);
  expect_same("conv2d:n=1,h=1,w=1,ci=1,co=3,k=1", k2d);
  expect_same("conv1d:n=2,l=7,ci=3,co=2,k=3,p=1", {{0, 2, 1}, {2, 1, 0}, {0, 2, 1}});
  expect_same("conv3d:n=1,depth=3,h=4,w=2,ci=2,co=3,kd=2,kh=3,kw=1,pd=1,pt=1",
              {{0, 4, 1, 2, 3}, {4, 3, 0, 1, 2}, {0, 4, 1, 2, 3}});
  expect_same("conv2d_transpose:n=1,h=3,w=2,ci=2,co=3,k=3,s=2,p=1", k2d);
  expect_same("capsule_conv2d:n=1,h=4,w=3,ci=2,co=3,kh=2,kw=1,caps=2",
              {{0, 3, 1, 2, 4, 5}, {3, 2, 0, 1, 4, 5}, {0, 3, 1, 2, 4, 5}});
}

TEST(LayoutOp, VectorsGoAlongTheChannels) {
  expect_same("conv2d:n=1,h=3,w=4,ci=2,co=3,k=2,epilogue=bias+relu+cscale", k2d);
  expect_same("max_pool2d:n=1,h=3,w=4,c=2,k=2,epilogue=bias", k2d);
}

TEST(LayoutOp, Depthwise) {
  // [kh, kw, c, mult] is [c * mult, 1, kh, kw] then.
  const auto x = small(2 * 4 * 5, 1), w = small(3 * 2 * 2 * 3, 2);
  const std::vector<double> last =
      run_spec("depthwise_conv2d:n=1,h=4,w=5,c=2,kh=3,kw=2,mult=3", {x, w});
  EXPECT_THAT(run_spec("depthwise_conv2d:n=1,h=4,w=5,c=2,kh=3,kw=2,mult=3,layout=nchw",
                       {moved(x, {1, 4, 5, 2}, k2d.x), moved(w, {3, 2, 2, 3}, {2, 3, 0, 1})}),
              ElementsAreArray(moved(last, {1, 2, 4, 6}, k2d.y)));
}

TEST(LayoutOp, Pools) {
  expect_same("max_pool2d:n=2,h=5,w=4,c=3,kh=3,kw=2,s=2,pt=1", k2d);
  expect_same("avg_pool2d:n=1,h=5,w=5,c=3,k=3,s=2,p=1,ceil=1", k2d);
  expect_same("avg_pool2d:n=1,h=5,w=4,c=2,k=2,p=1,count_pad=1", k2d);
  expect_same("global_avg_pool2d:n=2,h=2,w=4,c=3", k2d);
}

TEST(LayoutOp, ShapesOfWeights) {
  const auto shape = [](std::string_view spec) {
    return list_inputs(load_workload(spec).value())[1].shape;
  };
  EXPECT_THAT(shape("conv2d:n=1,h=5,w=5,ci=4,co=6,kh=3,kw=2,g=2,layout=nchw"),
              ElementsAre(6, 2, 3, 2));
  EXPECT_THAT(shape("conv3d:n=1,depth=4,h=5,w=5,ci=4,co=6,kd=1,kh=3,kw=2"),
              ElementsAre(1, 3, 2, 4, 6));
  EXPECT_THAT(shape("capsule_conv2d:n=1,h=5,w=5,ci=4,co=6,k=3"), ElementsAre(3, 3, 4, 6, 4, 4));
}

}  // namespace
}  // namespace espalier
