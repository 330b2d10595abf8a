#include "espalier/cost_model/analyzer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "espalier/cost_model/test_tasks.h"
#include "espalier/schedule/text.h"

namespace espalier {
namespace {

float score_of(const Task& task, const std::string& trace) {
  const Candidate candidate = make_candidate(parse_trace(trace, task).value());
  float score = 0;
  make_analyzer(data_sheet(task.target))->score(task, {&candidate, 1}, {&score, 1});
  return score;
}

TEST(Analyzer, PrefersWhatMachinesPrefer) {
  const Task task = test_task(512);
  const std::string tile =
      "Y: split i -> i.0 i.1 by 4\nY: split j -> j.0 j.1 by 16\nY: reorder i.0 j.0 k i.1 j.1\n"
      "Y: cache_write at j.0 -> Y.acc\n";
  const std::string vectors = tile + "Y.acc: unroll i.1\nY.acc: vectorize j.1\n";
  EXPECT_LT(score_of(task, ""), score_of(task, tile + "Y.acc: vectorize j.1\n"));
  EXPECT_LT(score_of(task, tile), score_of(task, vectors));
}

TEST(Analyzer, ThreadsShareWhatIsParallel) {
  Task task = test_task(512);
  task.threads = 2;
  EXPECT_LT(score_of(task, ""), score_of(task, "Y: parallel i\n"));
  // Three tasks keep two cores busy three quarters of the time.
  const float even = score_of(task, "Y: split i -> i.0 i.1 by 128\nY: parallel i.0\n");
  const float uneven = score_of(task, "Y: split i -> i.0 i.1 by 171\nY: parallel i.0\n");
  EXPECT_NEAR(even - uneven, std::log(4.0 / 3), 0.05);
}

TEST(Analyzer, RejectedTracesCannotWork) {
  const Task task = test_task(64);
  const Candidate candidate = make_candidate({SplitStep{2, 77, {{4, -1}}}});
  float score = 0;
  make_analyzer(DeviceModel())->score(task, {&candidate, 1}, {&score, 1});
  EXPECT_EQ(score, -INFINITY);
}

TEST(Analyzer, ScoresDoNotDependOnCompany) {
  const Task task = test_task(96);
  const std::vector<Candidate> candidates = test_candidates(60);
  const auto model = make_analyzer(DeviceModel());
  std::vector<float> together(60), alone(60);
  model->score(task, candidates, together);
  for (size_t i = 0; i < 60; ++i) model->score(task, {&candidates[i], 1}, {&alone[i], 1});
  EXPECT_EQ(together, alone);
}

TEST(Analyzer, IsSavedAndLoaded) {
  const auto model = make_analyzer(DeviceModel());
  EXPECT_TRUE(make_analyzer(DeviceModel())->load(model->save()).ok());
  EXPECT_FALSE(make_analyzer(DeviceModel())->load(make_random_model(1)->save()).ok());
}

}  // namespace
}  // namespace espalier
