#include "espalier/search/policy.h"

#include <cmath>
#include <set>

#include "espalier/search/slots.h"
#include "espalier/search/test_support.h"
#include "espalier/search/tuner.h"

namespace espalier {
namespace {

using testing::contents_of;
using testing::FakeMeasurer;
using testing::smooth_time;
using testing::task_of;
using testing::TempFolder;

std::vector<std::string> proposals_of(const std::string& policy, int threads, uint64_t seed,
                                      const Task& task, int n) {
  TuneOptions options;
  options.policy = policy;
  options.seed = seed;
  options.search_threads = threads;
  std::vector<std::string> texts;
  const std::vector<Proposal> proposals = propose(task, n, options).value();
  for (const Proposal& p : proposals) {
    texts.push_back(std::string(name_of(p.provenance)) + "\n" +
                    to_string(p.candidate.trace(), task));
  }
  return texts;
}

class EveryPolicy : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryPolicy, ProposesTheSameForAnyNumberOfThreads) {
  const Task task = task_of("conv2d:n=1,h=14,w=14,ci=16,co=32,k=3,p=1,epilogue=bias+relu");
  const std::vector<std::string> one = proposals_of(GetParam(), 1, 7, task, 100);
  EXPECT_EQ(one.size(), 100u);
  EXPECT_EQ(proposals_of(GetParam(), 2, 7, task, 100), one);
  EXPECT_EQ(proposals_of(GetParam(), 1, 7, task, 100), one);
}

TEST_P(EveryPolicy, OtherSeedsProposeOtherCandidates) {
  const Task task = task_of("matmul:m=100,n=100,k=100");
  EXPECT_NE(proposals_of(GetParam(), 1, 1, task, 40), proposals_of(GetParam(), 1, 2, task, 40));
}

TEST_P(EveryPolicy, NeverRepeatsItselfAndStaysLegal) {
  const Task task = task_of("matmul:m=60,n=60,k=60");
  const std::vector<std::string> texts = proposals_of(GetParam(), 2, 3, task, 150);
  std::set<std::string> traces;
  for (const std::string& t : texts) {
    const std::string trace = t.substr(t.find('\n') + 1);
    EXPECT_TRUE(traces.insert(trace).second) << trace;
    EXPECT_TRUE(replay(task, parse_trace(trace, task).value()).ok());
  }
}

TEST_P(EveryPolicy, StartsWithTheDefault) {
  EXPECT_EQ(proposals_of(GetParam(), 1, 1, task_of("softmax:rows=8,cols=100"), 1)[0].substr(0, 7),
            "default");
}

TEST_P(EveryPolicy, UsesUpASmallSpace) {
  const Task task = task_of("elementwise:op=relu,shape=7");
  const std::vector<std::string> texts = proposals_of(GetParam(), 1, 1, task, 1000);
  EXPECT_LT(texts.size(), 100u);
  const auto all = enumerate_space(SketchSpace(task), 1000);
  ASSERT_TRUE(all.has_value());
  for (const Candidate& c : *all) {
    const std::string trace = to_string(c.trace(), task);
    EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), [&](const std::string& t) {
      return t.substr(t.find('\n') + 1) == trace;
    })) << trace;
  }
}

INSTANTIATE_TEST_SUITE_P(Search, EveryPolicy,
                         ::testing::Values("random", "descent", "evolutionary", "draft_verify",
                                           "ansor", "auto"));

double best_after(const std::string& policy, uint64_t seed, int trials) {
  FakeMeasurer measurer([](const Candidate& c) { return FakeMeasurer::ok(smooth_time(c)); });
  TuneOptions options;
  options.policy = policy;
  options.seed = seed;
  options.trials = trials;
  return tune(task_of("matmul:m=512,n=512,k=512"), options, measurer).value().best_us;
}

TEST(Policies, DescentFindsTheBottomOfASmoothLandscape) {
  double descent = 0, random = 0;
  for (uint64_t seed : {1, 2, 3}) {
    descent += best_after("descent", seed, 150);
    random += best_after("random", seed, 150);
  }
  EXPECT_LT(descent, random);
}

TEST(Policies, AutoIsNoWorseThanChance) {
  double automatic = 0, random = 0;
  for (uint64_t seed : {1, 2, 3}) {
    automatic += best_after("auto", seed, 150);
    random += best_after("random", seed, 150);
  }
  EXPECT_LE(automatic, random * 1.02);
}

class LearningPolicy : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string records_of(int trials, int threads) {
    TempFolder folder;
    FakeMeasurer measurer([](const Candidate& c) {
      return c.hash() % 11 == 0 ? FakeMeasurer::failed(MeasureStatus::Timeout)
                                : FakeMeasurer::ok(smooth_time(c));
    });
    TuneOptions options;
    options.policy = GetParam();
    options.seed = 5;
    options.trials = trials;
    options.search_threads = threads;
    options.measure_naive = false;
    options.records = folder.file_path("a");
    tune(task_of("conv2d:n=1,h=14,w=14,ci=16,co=32,k=3,p=1,epilogue=bias+relu"), options, measurer)
        .value();
    const std::string text = contents_of(folder.file_path("a"));
    // Without the last line, which is that of the winner.
    return text.substr(0, text.rfind('\n', text.size() - 2) + 1);
  }
};

TEST_P(LearningPolicy, RecordsTheSameForAnyNumberOfThreads) {
  EXPECT_EQ(records_of(90, 1), records_of(90, 2));
}

TEST_P(LearningPolicy, ALongerRunContinuesAShorterOne) {
  const std::string shorter = records_of(37, 1), longer = records_of(90, 1);
  ASSERT_LT(shorter.size(), longer.size());
  EXPECT_EQ(longer.substr(0, shorter.size()), shorter);
}

INSTANTIATE_TEST_SUITE_P(Search, LearningPolicy,
                         ::testing::Values("evolutionary", "draft_verify", "draft_verify:round=12",
                                           "ansor:population=64,round=24", "auto"));

// Knows what the fake measurer will say.
class Oracle final : public CostModel {
 public:
  std::string_view name() const override { return "oracle"; }
  void score(const Task&, std::span<const Candidate> candidates, std::span<float> scores) override {
    for (size_t i = 0; i < candidates.size(); ++i) {
      scores[i] = static_cast<float>(-std::log(smooth_time(candidates[i])));
    }
  }
  void update(std::span<const MeasuredRow>) override {}
  std::string save() const override { return ""; }
  Result<void> load(std::string_view) override { return {}; }
};

class GuidedPolicy : public ::testing::TestWithParam<const char*> {};

TEST_P(GuidedPolicy, AModelThatIsRightFindsMoreThanOneThatGuesses) {
  auto best_with = [](std::shared_ptr<CostModel> model, uint64_t seed) {
    FakeMeasurer measurer([](const Candidate& c) { return FakeMeasurer::ok(smooth_time(c)); });
    TuneOptions options;
    options.policy = GetParam();
    options.seed = seed;
    options.trials = 140;
    options.parts.draft = options.parts.verifier = std::move(model);
    return tune(task_of("matmul:m=512,n=512,k=512"), options, measurer).value().best_us;
  };
  double right = 0, guessed = 0;
  for (uint64_t seed : {1, 2, 3}) {
    right += best_with(std::make_shared<Oracle>(), seed);
    guessed += best_with(make_random_model(seed), seed);
  }
  EXPECT_LT(right, guessed);
}

INSTANTIATE_TEST_SUITE_P(Search, GuidedPolicy,
                         ::testing::Values("evolutionary", "draft_verify",
                                           "ansor:population=128,round=32"));

TEST(Policies, AutoEndsWhereThereIsNothingToGain) {
  FakeMeasurer measurer([](const Candidate&) { return FakeMeasurer::ok(100); });
  TuneOptions options;
  options.trials = 5000;
  const TuneReport report = tune(task_of("matmul:m=512,n=512,k=512"), options, measurer).value();
  EXPECT_EQ(report.stopped, StopReason::Converged);
  EXPECT_LT(report.trials, 1000);
}

TEST(Policies, SettingsAreReadAndCheckedByName) {
  EXPECT_TRUE(check_policy("draft_verify:audit=0.25,round=16,crossover=0").ok());
  for (const char* bad : {"draft_verify:audit=2", "draft_verify:round=1.5", "draft_verify:audit",
                          "draft_verify:depth=3", "draft_verify:draft=0,verifier=0",
                          "random:seed=1", "auto:round=8,round=9", ""}) {
    EXPECT_FALSE(check_policy(bad).ok()) << bad;
  }
}

TEST(Policies, UnknownNamesAreAnErrorThatListsTheKnownOnes) {
  const auto unknown = make_policy("anneal", {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("descent"), std::string::npos);
}

}  // namespace
}  // namespace espalier
