#include <gmock/gmock.h>

#include "espalier/ir/ops/test_spec.h"

namespace espalier {
namespace {

using ::testing::ElementsAre;

const std::vector<double> kA = {1, 2, 3, 4, 5, 6};     // 2x3
const std::vector<double> kB = {1, 0, 2, -1, 0.5, 3};  // 3x2

TEST(MatmulOp, Product) {
  EXPECT_THAT(run_spec("matmul:m=2,n=2,k=3", {kA, kB}), ElementsAre(6.5, 7, 17, 13));
}

TEST(MatmulOp, TransposedOperands) {
  const std::vector<double> at = {1, 4, 2, 5, 3, 6}, bt = {1, 2, 0.5, 0, -1, 3};
  EXPECT_THAT(run_spec("matmul:m=2,n=2,k=3,ta=1", {at, kB}), ElementsAre(6.5, 7, 17, 13));
  EXPECT_THAT(run_spec("matmul:m=2,n=2,k=3,tb=1", {kA, bt}), ElementsAre(6.5, 7, 17, 13));
}

TEST(MatmulOp, ConstantWeights) {
  EXPECT_THAT(run_spec("matmul:m=2,n=2,k=3,weights=constant,epilogue=bias", {kA, {10, 20}, kB}),
              ElementsAre(16.5, 27, 27, 33));
}

TEST(MatmulOp, EmptyReductionIsZero) {
  EXPECT_THAT(run_spec("matmul:m=2,n=2,k=0", {{}, {}}), ElementsAre(0, 0, 0, 0));
}

TEST(MatmulOp, EmptyResult) { EXPECT_TRUE(run_spec("matmul:m=0,n=2,k=3", {{}, kB}).empty()); }

// C17: nothing is left over from elsewhere, and addends are added once.
TEST(MatmulOp, ZeroRowsAndAddends) {
  EXPECT_THAT(run_spec("matmul:m=2,n=2,k=2", {{1, 0, 0, 0}, {1, 2, 3, 4}}),
              ElementsAre(1, 2, 0, 0));
  EXPECT_THAT(
      run_spec("matmul:m=2,n=1,k=2,epilogue=add+add", {{1, 2, 3, 4}, {1, 1}, {7, 8}, {0, 0}}),
      ElementsAre(10, 15));
}

TEST(MatmulOp, BatchWithMask) {
  const std::vector<double> a = {1, 2, 3, 4}, b = {1, 1, 2, 2};  // b=2, m=1, k=2, n=1
  EXPECT_THAT(run_spec("batch_matmul:b=2,m=1,n=1,k=2,epilogue=scale+add,scale=2", {a, b, {5}}),
              ElementsAre(11, 33));
}

TEST(MatmulOp, BatchWithARowAsMask) {
  EXPECT_THAT(
      run_spec("batch_matmul:b=1,m=2,n=2,k=1,epilogue=add,add=n", {{1, 2}, {1, 10}, {5, 6}}),
      ElementsAre(6, 16, 7, 26));
}

}  // namespace
}  // namespace espalier
