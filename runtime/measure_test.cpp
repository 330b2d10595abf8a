#include "espalier/runtime/measure.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(Measure, StatusesHaveTheNamesThatRecordsHold) {
  EXPECT_EQ(name_of(MeasureStatus::Ok), "ok");
  EXPECT_EQ(name_of(MeasureStatus::CompileError), "compile");
  EXPECT_EQ(name_of(MeasureStatus::RunError), "run");
  EXPECT_EQ(name_of(MeasureStatus::Timeout), "timeout");
  EXPECT_EQ(name_of(MeasureStatus::Wrong), "wrong");
}

TEST(Measure, TheCentreIsTheMedian) {
  EXPECT_EQ(robust_centre({}), 0);
  EXPECT_EQ(robust_centre({3}), 3);
  EXPECT_EQ(robust_centre({9, 1, 2}), 2);
  EXPECT_EQ(robust_centre({9, 1, 2, 4}), 3);
}

}  // namespace
}  // namespace espalier
