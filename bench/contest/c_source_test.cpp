#include "contest/c_source.h"

#include <gtest/gtest.h>

#include "contest/traffic.h"
#include "espalier/ir/ops/workload.h"
#include "espalier/schedule/lower.h"
#include "espalier/search/default_schedule.h"

namespace espalier::bench {
namespace {

Result<std::string> naive_source(const std::string& workload) {
  const Task task{load_workload(workload).value(), host_target(), 1, workload};
  return c_source(lower(replay(task, naive_candidate(task)).state()).value().main);
}

TEST(CSource, IsTheNestInTheOrderOfTheDefinition) {
  const std::string source = naive_source("matmul:m=3,n=5,k=7").value();
  const size_t kernel = source.find(
      "static void kernel(const float *restrict A_0, "
      "const float *restrict B_1, float *restrict Y_2)");
  ASSERT_NE(kernel, std::string::npos) << source;
  const size_t i = source.find("< 3; ", kernel), j = source.find("< 5; ", i),
               k = source.find("< 7; ", j);
  EXPECT_LT(i, j);
  EXPECT_LT(j, k);
  EXPECT_NE(k, std::string::npos) << source;
}

TEST(CSource, HasNoInfinities) {
  const std::string source = naive_source("max_pool2d:n=1,h=6,w=6,c=2,k=3,s=2,p=1").value();
  EXPECT_NE(source.find("-3.40282347e38f"), std::string::npos) << source;
  EXPECT_EQ(source.find("inf"), std::string::npos) << source;
}

TEST(CSource, RefusesHalfPrecision) {
  const ComputeDag dag =
      parse_dag("A = placeholder bf16[4]\nY[i: 4] = A[i] + A[i]\nreturn Y\n").value();
  const Task task{dag, host_target(), 1, ""};
  const auto source = c_source(lower(replay(task, naive_candidate(task)).state()).value().main);
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.error().code, ErrorCode::Unsupported);
}

TEST(Traffic, CountsEachArrayOnce) {
  EXPECT_EQ(traffic_bytes(load_workload("matmul:m=3,n=5,k=7").value()),
            4 * (3 * 7 + 7 * 5 + 3 * 5));
}

TEST(Traffic, CountsWhatIsSelectedOfATable) {
  // 16 indices of 8 bytes, 16 rows read, 16 rows written.
  EXPECT_EQ(traffic_bytes(load_workload("embedding:rows=16,cols=8,vocab=1000").value()),
            16 * 8 + 2 * 4 * 16 * 8);
}

}  // namespace
}  // namespace espalier::bench
