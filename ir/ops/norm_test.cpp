#include <gmock/gmock.h>

#include <cmath>

#include "espalier/ir/ops/test_spec.h"

namespace espalier {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

TEST(NormOp, RootOfTheSumOfSquares) {
  EXPECT_THAT(run_spec("norm2:b=2,m=1,n=2", {{3, 4, 5, 12}}), ElementsAre(5, 13));
  EXPECT_THAT(run_spec("norm2:b=1,m=2,n=3", {{1, 1, 1, 1, 2, 1}}), ElementsAre(3));
  EXPECT_THAT(run_spec("norm2:b=1,m=0,n=3", {{}}), ElementsAre(0));
}

TEST(NormOp, RootMeanSquare) {
  const std::vector<double> x = {1, 2, 3, -4, 0, 6}, gain = {1, 2, -3};
  std::vector<double> expected;
  for (size_t row = 0; row < 2; ++row) {
    double squares = 0;
    for (size_t c = 0; c < 3; ++c) squares += x[row * 3 + c] * x[row * 3 + c];
    for (size_t c = 0; c < 3; ++c) {
      expected.push_back(x[row * 3 + c] / std::sqrt(squares / 3 + 1e-5) * gain[c]);
    }
  }
  EXPECT_THAT(run_spec("rms_norm:rows=2,cols=3,dtype=f64", {x, gain}),
              Pointwise(DoubleNear(1e-14), expected));
}

TEST(NormOp, AttentionScores) {
  constexpr size_t kSeq = 3, kHeads = 2, kDim = 2;
  const std::vector<double> q = counting(kSeq * kHeads * kDim, -5),
                            k = {0.5, -1, 0.25, 2, 1, 1, -0.5, 0, 0.125, 3, -2, 0.75};
  std::vector<double> expected;
  for (size_t h = 0; h < kHeads; ++h) {
    for (size_t i = 0; i < kSeq; ++i) {
      double row[kSeq], total = 0;
      for (size_t j = 0; j < kSeq; ++j) {
        double dot = 0;
        for (size_t d = 0; d < kDim; ++d) {
          dot += q[(i * kHeads + h) * kDim + d] * k[(j * kHeads + h) * kDim + d];
        }
        total += row[j] = std::exp(dot);
      }
      for (double e : row) expected.push_back(e / total);
    }
  }
  EXPECT_THAT(run_spec("attention_scores:seq=3,heads=2,dim=2,dtype=f64", {q, k}),
              Pointwise(DoubleNear(1e-14), expected));
}

}  // namespace
}  // namespace espalier
