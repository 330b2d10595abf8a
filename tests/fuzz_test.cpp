// Random DAGs under random schedules through all evaluations; `make fuzz` goes on for as long as
// one likes.
#include <gtest/gtest.h>

#include <cstdio>
#include <utility>

#include "espalier/support/target.h"
#include "fuzz_run.h"

namespace espalier {
namespace {

constexpr uint64_t kSeed = 20260;
constexpr int64_t kCases = 3360;
constexpr int64_t kSketchCases = 640;
constexpr int64_t kTransferCases = 640;
constexpr int64_t kLeastRuns = 20;  // of each step under each kind of tail

FuzzReport run(CaseSource source, int64_t cases) {
  FuzzOptions options;
  options.source = std::move(source);
  options.seed = kSeed;
  options.cases = cases;
  options.jobs = usable_cores();
  options.max_failures = 5;
  options.shrink_seconds = 5;
  FuzzReport report = run_fuzz(options);
  std::printf("seed %d\n%s", static_cast<int>(kSeed), to_string(report.tally).c_str());
  for (const FuzzFailure& f : report.failures) ADD_FAILURE() << to_string(f, kSeed);
  EXPECT_EQ(report.tally.cases, cases);
  EXPECT_GE(report.tally.compared, cases * 98 / 100);
  return report;
}

TEST(Fuzz, RandomStepsUnderEveryTail) {
  const FuzzReport report = run(draw_random_steps, kCases);
  for (size_t k = 0; k < kStepKinds; ++k) {
    for (size_t t = 0; t < kTailKinds; ++t) {
      EXPECT_GE(report.tally.ran[k][t], kLeastRuns)
          << step_kind_name(static_cast<int>(k)) << " under tail '" << kTailNames[t] << "'";
    }
  }
}

TEST(Fuzz, SketchesWithRandomNumbers) {
  const FuzzReport report = run(draw_sketch, kSketchCases);
  // The sampler is legal by construction.
  EXPECT_LE(report.tally.undrawn, kSketchCases / 10);
}

TEST(Fuzz, SchedulesCarriedOverBetweenPrograms) { run(draw_transfer, kTransferCases); }

}  // namespace
}  // namespace espalier
