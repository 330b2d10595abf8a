// Random DAGs under random schedules through all evaluations. Four parts, so that ctest can run
// them side by side; `make fuzz` goes on for as long as one likes.
#include <gtest/gtest.h>

#include "fuzz_run.h"

namespace espalier {
namespace {

constexpr uint64_t kSeed = 20260;
constexpr int64_t kCases = 1600;
constexpr int kParts = 4;
constexpr int64_t kLeastRuns = 20;  // of each step under each kind of tail, over all parts

class Fuzz : public testing::TestWithParam<int> {};

TEST_P(Fuzz, AllEvaluationsAgree) {
  FuzzOptions options;
  options.seed = kSeed;
  options.first = static_cast<uint64_t>(GetParam() * kCases);
  options.cases = kCases;
  options.max_failures = 3;
  options.shrink_seconds = 10;
  const FuzzReport report = run_fuzz(options);
  std::printf("seed %d\n%s", static_cast<int>(kSeed), to_string(report.tally).c_str());
  for (const FuzzFailure& f : report.failures) ADD_FAILURE() << to_string(f, kSeed);
  EXPECT_GE(report.tally.compared, kCases * 98 / 100);
  for (int k = 0; k < kStepKinds; ++k) {
    for (int t = 0; t < kTailKinds; ++t) {
      EXPECT_GE(report.tally.ran[static_cast<size_t>(k)][static_cast<size_t>(t)],
                kLeastRuns / kParts)
          << step_kind_name(k) << " under tail '" << kTailNames[t] << "'";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Part, Fuzz, testing::Range(0, kParts));

}  // namespace
}  // namespace espalier
