// Cases that the fuzzers found, shrunk.
#include "agreement.h"

namespace espalier {
namespace {

constexpr std::string_view kFollowed =
    "A = placeholder f32[3, 10]\n"
    "S[i: 3, j: 10] = A[i, j] * 2.0f32\n"
    "T[i: 3, j: 10] = S[i, j] + 1.0f32\n"
    "return T\n";

TEST(FuzzFindings, StorageInTheOwnNestNeedsFollowersWithTheSameLoops) {
  EXPECT_EQ(rejection_of(kFollowed, "S: store_at S i",
                         "T: compute_after S i\n"
                         "S: split j -> j.0 j.1 by 4\n"),
            RejectionCode::NotEnclosing);
  EXPECT_EQ(rejection_of(kFollowed, "S: store_at S i",
                         "T: compute_after S i\n"
                         "S: split j -> j.0 j.1 by 4\n"
                         "T: split j -> j.0 j.1 by 5\n"),
            RejectionCode::NotEnclosing);
  expect_agreement(kFollowed,
                   "S: split j -> j.0 j.1 by 4\n"
                   "T: compute_after S i\n"
                   "S: store_at S i\n"
                   "T: split j.1 -> j.1.0 j.1.1 by 3\n");
}

// The last run of C's i.1 needs less than all of P, and Q and a copy hold no more than it needs.
constexpr std::string_view kPartlyRead =
    "A = placeholder f32[3, 9]\n"
    "Q[j: 3, i: 9] = A[j, i] * 2.0f32\n"
    "P[j: 3, i: 9] = Q[j, i] + 1.0f32\n"
    "C[j: 3, i: 5] = P[j, i + 1]\n"
    "return C\n";

TEST(FuzzFindings, AttachedStageTakesNoMoreFromAttachedOnesThanIsNeeded) {
  expect_agreement(kPartlyRead,
                   "C: split i -> i.0 i.1 by 2\n"
                   "P: compute_at C i.0\n"
                   "Q: compute_at C j\n"
                   "P: vectorize i\n");
}

TEST(FuzzFindings, AttachedStageTakesNoMoreFromCopiesThanIsNeeded) {
  expect_agreement(kPartlyRead,
                   "C: split i -> i.0 i.1 by 2\n"
                   "P: compute_at C i.0\n"
                   "P: cache_read 0 at root layout [dim 0, dim 1]\n"
                   "P: unroll i\n");
}

TEST(FuzzFindings, StageInACopyOfAnAttachedStage) {
  expect_agreement(
      "A = placeholder f32[2, 1]\n"
      "P[i: 2, j: 1] = A[i, j] + 1.0f32\n"
      "Q[i: 2, j: 1] = P[i, j]\n"
      "R[i: 2] = Q[i, 0]\n"
      "return R\n",
      "Q: compute_at R i\n"
      "Q: split j -> j.0 j.1 by 1\n"
      "Q: cache_read 0 at root layout [i, dim 0, j.1] -> P.pack\n"
      "P: compute_at P.pack j.1\n");
}

TEST(FuzzFindings, OneBufferServesOneSharer) {
  EXPECT_EQ(rejection_of("A = placeholder f32[4]\n"
                         "S[i: 4] = A[i] + 1.0f32\n"
                         "T[i: 4] = A[i] * 2.0f32\n"
                         "U[i: 4] = S[i] - T[i]\n"
                         "return U\n",
                         "T: share U", "S: share U\n"),
            RejectionCode::NotShareable);
}

TEST(FuzzFindings, NothingIsSharedWithAStageThatMayBeComputedTwice) {
  EXPECT_EQ(rejection_of("A = placeholder f32[4]\n"
                         "S[i: 4] = A[i] + 1.0f32\n"
                         "T[i: 4] = -S[i]\n"
                         "U[i: 3] = T[i] + T[i + 1]\n"
                         "return U\n",
                         "S: share T", "T: compute_at U i\nT: store_at root\n"),
            RejectionCode::NotShareable);
}

// Whole vectors gather through one element of I.
TEST(FuzzFindings, LanesThatAgreeOnAnIndexFromData) {
  expect_agreement(
      "W = constant bool[3, 22]\n"
      "I = placeholder i16[1, 3] in [0, 3)\n"
      "S[i: 1, j: 3, k: 22] = W[i64(I[i, j]), k]\n"
      "return S\n",
      "S: fuse i j k -> i_j_k\n"
      "S: cache_read 0 at root layout [dim 0 outer 2, dim 0 inner 2, dim 1]\n"
      "S: vectorize i_j_k\n");
}

}  // namespace
}  // namespace espalier
