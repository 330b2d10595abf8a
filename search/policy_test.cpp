#include "espalier/search/policy.h"

#include <set>

#include "espalier/search/slots.h"
#include "espalier/search/test_support.h"
#include "espalier/search/tuner.h"

namespace espalier {
namespace {

using testing::FakeMeasurer;
using testing::smooth_time;
using testing::task_of;

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

TEST(Policies, UnknownNamesAreAnErrorThatListsTheKnownOnes) {
  const auto unknown = make_policy("anneal", {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("descent"), std::string::npos);
}

}  // namespace
}  // namespace espalier
