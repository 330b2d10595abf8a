#include "espalier/cost_model/cost_model.h"

#include <cmath>
#include <limits>
#include <vector>

#include "espalier/cost_model/test_tasks.h"
#include "gtest/gtest.h"

namespace espalier {
namespace {

std::vector<float> scores_of(CostModel& model, const Task& task,
                             const std::vector<Candidate>& candidates) {
  std::vector<float> scores(candidates.size());
  model.score(task, candidates, scores);
  return scores;
}

TEST(TaskKey, TellsProgramTargetAndThreadsApart) {
  const Task task = test_task(8);
  Task threads = task, target = task;
  threads.threads = 2;
  target.target.l2_bytes *= 2;
  EXPECT_EQ(task_key(task), task_key(test_task(8)));
  EXPECT_NE(task_key(task), task_key(test_task(16)));
  EXPECT_NE(task_key(task), task_key(threads));
  EXPECT_NE(task_key(task), task_key(target));
}

TEST(RandomModel, IsAPureFunctionOfSeedTaskAndCandidate) {
  const Task task = test_task(64);
  const std::vector<Candidate> candidates = test_candidates(8);
  const auto a = make_random_model(1), b = make_random_model(1), c = make_random_model(2);
  EXPECT_EQ(scores_of(*a, task, candidates), scores_of(*b, task, candidates));
  EXPECT_NE(scores_of(*a, task, candidates), scores_of(*c, task, candidates));
  EXPECT_NE(scores_of(*a, task, candidates), scores_of(*a, test_task(128), candidates));
  for (float s : scores_of(*a, task, candidates)) {
    EXPECT_GE(s, 0);
    EXPECT_LT(s, 1);
  }
}

TEST(RandomModel, IsReadBackWithItsSeed) {
  const Task task = test_task(64);
  const std::vector<Candidate> candidates = test_candidates(5);
  const auto saved = make_random_model(0xfedcba9876543210U), loaded = make_random_model(0);
  ASSERT_TRUE(loaded->load(saved->save()).ok());
  EXPECT_EQ(scores_of(*saved, task, candidates), scores_of(*loaded, task, candidates));
}

TEST(RecordedModel, ScoresByTheBestRecordedTime) {
  const Task task = test_task(64);
  const std::vector<Candidate> c = test_candidates(4);
  const auto model = make_recorded_model();
  const MeasuredRow rows[] = {
      {&task, c[0], 40}, {&task, c[1], 10}, {&task, c[0], 20}, {&task, c[2], 0}};
  model->update(rows);
  const std::vector<float> scores = scores_of(*model, task, c);
  EXPECT_FLOAT_EQ(scores[0], std::log(0.5F));
  EXPECT_EQ(scores[1], 0);
  EXPECT_EQ(scores[2], -std::numeric_limits<float>::infinity());  // failed
  EXPECT_EQ(scores[3], -std::numeric_limits<float>::infinity());  // not recorded
}

TEST(RecordedModel, KeepsTasksApart) {
  const Task task = test_task(64), other = test_task(128);
  const std::vector<Candidate> c = test_candidates(1);
  const auto model = make_recorded_model();
  const MeasuredRow rows[] = {{&task, c[0], 40}};
  model->update(rows);
  EXPECT_EQ(scores_of(*model, other, c)[0], -std::numeric_limits<float>::infinity());
}

TEST(RecordedModel, OrderOfUpdatesDoesNotMatter) {
  const Task task = test_task(64), other = test_task(32);
  const std::vector<Candidate> c = test_candidates(3);
  const MeasuredRow a[] = {{&task, c[0], 40}, {&other, c[1], 10}};
  const MeasuredRow b[] = {{&task, c[0], 30}, {&task, c[2], -1}};
  const auto ab = make_recorded_model(), ba = make_recorded_model();
  ab->update(a);
  ab->update(b);
  ba->update(b);
  ba->update(a);
  EXPECT_EQ(ab->save(), ba->save());
}

TEST(RecordedModel, IsReadBack) {
  const Task task = test_task(64);
  const std::vector<Candidate> c = test_candidates(3);
  const auto saved = make_recorded_model(), loaded = make_recorded_model();
  const MeasuredRow rows[] = {{&task, c[0], 40.1}, {&task, c[1], 10.3}, {&task, c[2], 0}};
  saved->update(rows);
  ASSERT_TRUE(loaded->load(saved->save()).ok());
  EXPECT_EQ(scores_of(*saved, task, c), scores_of(*loaded, task, c));
  EXPECT_EQ(saved->save(), loaded->save());
}

TEST(CostModel, RefusesOtherKindsAndVersions) {
  const auto random = make_random_model(1), recorded = make_recorded_model();
  const Result<void> kind = recorded->load(random->save());
  ASSERT_FALSE(kind.ok());
  EXPECT_EQ(kind.error().code, ErrorCode::Unsupported);
  EXPECT_NE(kind.error().message.find("'random'"), std::string::npos);
  const Result<void> version = recorded->load(R"({"model": "recorded", "version": 99})");
  ASSERT_FALSE(version.ok());
  EXPECT_EQ(version.error().code, ErrorCode::Unsupported);
  EXPECT_FALSE(recorded->load("[1]").ok());
  EXPECT_FALSE(recorded->load("{").ok());
}

}  // namespace
}  // namespace espalier
