#include "espalier/cost_model/features.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "espalier/cost_model/analyzer.h"
#include "espalier/cost_model/explain_cost.h"
#include "espalier/cost_model/test_tasks.h"
#include "espalier/schedule/text.h"

namespace espalier {
namespace {

Task task_of(const std::string& workload) {
  Task task;
  task.workload = workload;
  task.dag = load_workload(workload).value();
  task.target = parse_target("x86_64 features=+avx2,+fma cores=2").value();
  task.threads = 2;
  return task;
}

float column(const std::string& name, const State& state) {
  const auto source = make_features(DeviceModel());
  const std::vector<float> row = features_of(state, DeviceModel());
  for (size_t i = 0; i < row.size(); ++i) {
    if (source->names()[i] == name) return row[i];
  }
  ADD_FAILURE() << "no column " << name;
  return NAN;
}

TEST(Features, NamesAreDistinct) {
  const auto source = make_features(DeviceModel());
  const std::set<std::string> distinct(source->names().begin(), source->names().end());
  EXPECT_EQ(distinct.size(), source->names().size());
}

TEST(Features, AreFiniteForExtentsZeroAndOne) {
  for (const char* workload :
       {"matmul:m=0,n=16,k=16", "matmul:m=16,n=0,k=1", "matmul:m=16,n=16,k=0", "matmul:m=1,n=1,k=1",
        "conv2d:n=1,h=1,w=1,ci=1,co=1,k=1", "softmax:rows=1,cols=1", "softmax:rows=0,cols=4",
        "reduce:op=max,shape=0x3,axes=1", "transpose:shape=1x1,perm=1x0",
        "elementwise:op=gelu,shape=1", "layer_norm:rows=3,cols=1"}) {
    const Task task = task_of(workload);
    for (float v : features_of(State::initial(task), DeviceModel())) {
      EXPECT_TRUE(std::isfinite(v)) << workload;
    }
  }
}

TEST(Features, AFixedNumberWhateverTheProgram) {
  const size_t columns = make_features(DeviceModel())->names().size();
  for (const char* workload : {"elementwise:op=relu,shape=100", "layer_norm:rows=8,cols=64"}) {
    EXPECT_EQ(features_of(State::initial(task_of(workload)), DeviceModel()).size(), columns);
  }
}

TEST(Features, OfCandidatesAreThoseOfTheirStates) {
  const Task task = test_task(64);
  const std::vector<Candidate> candidates = test_candidates(40);
  const auto source = make_features(DeviceModel());
  const size_t columns = source->names().size();
  std::vector<float> values(columns * candidates.size()), margins(candidates.size());
  source->extract(task, candidates, 2, values, margins);
  for (size_t i = 0; i < candidates.size(); ++i) {
    const std::vector<float> row = features_of(replay(task, candidates[i]).state(), DeviceModel());
    for (size_t k = 0; k < columns; ++k) {
      EXPECT_EQ(values[i * columns + k], row[k]) << source->names()[k];
    }
  }
}

TEST(Features, MarginsAreTheAnalyzersScores) {
  const Task task = test_task(64);
  const std::vector<Candidate> candidates = test_candidates(20);
  const auto source = make_features(DeviceModel());
  std::vector<float> values(source->names().size() * 20), margins(20), scores(20);
  source->extract(task, candidates, 1, values, margins);
  make_analyzer(DeviceModel())->score(task, candidates, scores);
  EXPECT_EQ(margins, scores);
}

TEST(Features, TracesThatAreRejectedAreNaN) {
  const Task task = test_task(64);
  const std::vector<Candidate> candidates = {make_candidate({SplitStep{2, 77, {{4, -1}}}})};
  const auto source = make_features(DeviceModel());
  std::vector<float> values(source->names().size()), margins(1);
  source->extract(task, candidates, 1, values, margins);
  EXPECT_TRUE(std::isnan(margins[0]));
  EXPECT_TRUE(std::isnan(values[0]));
}

State tiled(const Task& task, int rows, int columns) {
  const std::string trace = "Y: split i -> i.0 i.1 by " + std::to_string(rows) +
                            "\nY: split j -> j.0 j.1 by " + std::to_string(columns) +
                            "\nY: reorder i.0 j.0 k i.1 j.1\nY: cache_write at j.0 -> Y.acc\n"
                            "Y.acc: unroll i.1\nY.acc: vectorize j.1\n";
  return replay(task, parse_trace(trace, task).value()).take();
}

TEST(Features, RegistersAreThoseOfTheTile) {
  const Task task = task_of("matmul:m=64,n=64,k=64");
  // 4 x 2 accumulators, two vectors of B and one broadcast of A, of 16 registers.
  EXPECT_FLOAT_EQ(column("hot_registers", tiled(task, 4, 16)), std::log2(1 + 11.0F / 16));
  EXPECT_EQ(column("hot_spilled", tiled(task, 4, 16)), 0);
  EXPECT_GT(column("hot_spilled", tiled(task, 8, 16)), 0);
}

TEST(Features, FewSumsWaitForTheirChain) {
  const Task task = task_of("matmul:m=64,n=64,k=64");
  EXPECT_EQ(column("hot_chain", tiled(task, 1, 8)), 1);
  EXPECT_LT(column("hot_chain", tiled(task, 6, 16)), 1);
}

TEST(Features, TailsAndLanesThatAreLost) {
  const Task even = task_of("matmul:m=64,n=64,k=64"), odd = task_of("matmul:m=61,n=61,k=64");
  EXPECT_EQ(column("hot_tail", tiled(even, 4, 16)), 1);
  EXPECT_GT(column("hot_tail", tiled(odd, 4, 16)), 1);
  EXPECT_EQ(column("hot_lanes_used", tiled(even, 4, 12)), 0.75F);
}

TEST(ExplainCost, NamesWhatLimitsEachStage) {
  const Task task = task_of("matmul:m=64,n=64,k=64");
  const std::string text = explain_cost(tiled(task, 1, 8), DeviceModel());
  EXPECT_NE(text.find("Y.acc: "), std::string::npos) << text;
  EXPECT_NE(text.find(" us at 3.0 GHz, "), std::string::npos) << text;
  EXPECT_NE(text.find("the chain of sums"), std::string::npos) << text;
}

}  // namespace
}  // namespace espalier
