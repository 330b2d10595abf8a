// Features of random schedules of random programs: finite, whatever the steps were.
#include <gtest/gtest.h>

#include <cmath>

#include "espalier/cost_model/ansor_features.h"
#include "espalier/cost_model/features.h"
#include "random_dag.h"
#include "random_schedule.h"

namespace espalier {
namespace {

TEST(FeaturesFuzz, AreFiniteOnRandomSchedules) {
  constexpr uint64_t kSeed = 77;
  const auto source = make_features(DeviceModel());
  Tally tally;
  for (uint64_t i = 0; i < 400; ++i) {
    Rng rng(kSeed + i);
    Task task;
    task.dag = random_dag(rng, 100000).dag;
    task.target = parse_target(i % 2 == 0 ? "x86_64 features=+avx2,+fma cores=2"
                                          : "x86_64 features=+avx2,+fma,+avx512f")
                      .value();
    task.threads = 1 + static_cast<int>(i % 3);
    const State state = random_schedule(rng, task, {}, tally);
    const std::vector<float> row = features_of(state, DeviceModel());
    for (size_t k = 0; k < row.size(); ++k) {
      ASSERT_TRUE(std::isfinite(row[k]))
          << "seed " << kSeed + i << ", " << source->names()[k] << "\n"
          << state;
    }
    for (const AnsorRow& r : ansor_rows(state)) {
      for (size_t k = 0; k < kAnsorColumns; ++k) {
        ASSERT_TRUE(std::isfinite(r[k]))
            << "seed " << kSeed + i << ", " << ansor_columns()[k].name << "\n"
            << state;
      }
    }
  }
}

}  // namespace
}  // namespace espalier
