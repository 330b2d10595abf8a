// Small inputs that broke other compilers, under schedules like those that broke them. Each goes
// through all evaluations; where the report gives numbers, machine code must give them too. What
// depends on values more than on schedules is in reported_values_test.cpp.
#include <gtest/gtest.h>

#include <cmath>

#include "agreement.h"
#include "espalier/search/default_schedule.h"
#include "espalier/search/slots.h"
#include "machine_values.h"

namespace espalier {
namespace {

TEST(ReportedFaults, B1NestedSplitsWithDifferentTails) {
  constexpr std::string_view kDag =
      "A = placeholder f32[16]\n"
      "G[i: 16] = A[i]\n"
      "return G\n";
  expect_agreement(kDag,
                   "G: split i -> i.0 i.1 by 2\n"
                   "G: split i.0 -> i.0.0 i.0.1 by 3\n"
                   "G: vectorize i.1\n");
  expect_agreement(kDag,
                   "G: split i -> i.0 i.1 by 5\n"
                   "G: split i.1 -> i.1.0 i.1.1 by 4\n"
                   "G: vectorize i.1.1\n");
}

TEST(ReportedFaults, B3DeepSplitsBesideARfactoredReduction) {
  constexpr std::string_view kDag =
      "A = placeholder f32[20, 19]\n"
      "B[y: 20, x: 15] = sum[r: 5](A[y, x + r])\n"
      "return B\n";
  expect_agreement(kDag,
                   "B: split y -> y.0 y.1 y.2 y.3 by 8 8 8\n"
                   "B: rfactor r -> B.part\n"
                   "B.part: vectorize y.3\n");
  expect_agreement(kDag,
                   "B: split r -> r.0 r.1 by 2\n"
                   "B: rfactor r.1 -> B.part\n"
                   "B.part: split y -> y.0 y.1 by 8\n"
                   "B: vectorize x.w\n");
}

TEST(ReportedFaults, B5ProducerAndConsumerSplitDifferently) {
  expect_agreement(
      "A = placeholder f32[48]\n"
      "P[i: 48] = A[i]\n"
      "D[i: 48] = P[i]\n"
      "return D\n",
      "D: split i -> i.0 i.1 by 32\n"
      "P: compute_at D i.0\n"
      "P: split i -> i.0 i.1 by 10\n"
      "D: partition i.0\n"
      "P: vectorize i.1\n");
}

TEST(ReportedFaults, B7FusedSplitAndAttachedOverAnExtentThatDoesNotDivide) {
  constexpr std::string_view kDag =
      "A = placeholder f32[16, 477]\n"
      "L[i: 16, j: 477] = log(A[i, j])\n"
      "H[i: 16, j: 477] = L[i, j] * 0.5f32\n"
      "E[i: 16, j: 477] = exp(H[i, j])\n"
      "return E\n";
  constexpr std::string_view kTrace =
      "E: fuse i j -> i_j\n"
      "E: split i_j -> i_j.0 i_j.1 by 64\n"
      "H: compute_at E i_j.0\n"
      "L: compute_at E i_j.0\n"
      "E: vectorize i_j.1\n"
      "E: parallel i_j.0\n";
  expect_agreement(kDag, kTrace, false);
  Array x(DType::F32, {16, 477});
  for (int64_t i = 0; i < x.elements(); ++i) x.set(i, 0.25 + static_cast<double>(i));
  const std::vector<double> y = run(kDag, kTrace, {x});
  for (size_t i = 0; i < y.size(); ++i) {
    const double want = std::sqrt(0.25 + static_cast<double>(i));
    EXPECT_NEAR(y[i], want, 1e-5 * want);
  }
}

TEST(ReportedFaults, B9FactorAboveTheExtent) {
  constexpr std::string_view kDag =
      "A = placeholder f32[2, 2]\n"
      "B[i: 2, j: 2] = A[i, j] + 1.0f32\n"
      "return B\n";
  expect_agreement(kDag,
                   "B: split i -> i.0 i.1 by 4\n"
                   "B: split j -> j.0 j.1 by 4\n"
                   "B: vectorize j.1\n"
                   "B: unroll i.1\n");
  expect_agreement(kDag,
                   "B: fuse i j -> i_j\n"
                   "B: split i_j -> i_j.0 i_j.1 by 16\n"
                   "B: vectorize i_j.1\n"
                   "B: cache_read 0 at root layout [dim 1, dim 0 outer 4, dim 0 inner 4] -> "
                   "A.pack\n");
}

TEST(ReportedFaults, B13UnsignedWrapSurvivesInlining) {
  constexpr std::string_view kDag =
      "A = placeholder u32[3]\n"
      "B[i: 3] = A[i] - 2u32\n"
      "C[i: 3] = u64(B[i]) + 0u64\n"
      "return C\n";
  constexpr std::string_view kTrace =
      "B: inline\n"
      "C: vectorize i\n";
  expect_agreement(kDag, kTrace);
  EXPECT_EQ(run(kDag, kTrace, {array_of(DType::U32, {3}, {0, 1, 2})}),
            (std::vector<double>{4294967294, 4294967295, 0}));
}

constexpr std::string_view kOnes =
    "A = placeholder f32[128]\n"
    "S[] = sum[k: 128](A[k])\n"
    "return S\n";

TEST(ReportedFaults, C1LanesOfAReductionAxis) {
  EXPECT_EQ(rejection_of(kOnes, "S: vectorize k"), RejectionCode::ReductionLoop);
  EXPECT_EQ(rejection_of(kOnes, "S: parallel k"), RejectionCode::ReductionLoop);
  constexpr std::string_view kTrace =
      "S: split k -> k.0 k.1 by 16\n"
      "S: rfactor k.1 -> S.part\n"
      "S.part: reorder k.1 k.0\n"
      "S.part: vectorize k.1\n"
      "S: vectorize k.1.r\n";
  expect_agreement(kOnes, kTrace);
  EXPECT_EQ(run(kOnes, kTrace, {filled(DType::F32, {128}, 1)}), std::vector<double>{128});
}

TEST(ReportedFaults, C3SubtractionStaysInOrder) {
  constexpr std::string_view kDag =
      "combiner minus(acc: f32, x: f32) = acc - x, identity=0.0f32\n"
      "A = placeholder f32[64, 64]\n"
      "S[] = ordered minus[i: 64, j: 64](A[i, j])\n"
      "return S\n";
  EXPECT_EQ(rejection_of(kDag, "S: rfactor j"), RejectionCode::NotReorderable);
  EXPECT_EQ(rejection_of(kDag, "S: reorder j i"), RejectionCode::NotReorderable);
  constexpr std::string_view kTrace =
      "S: split i -> i.0 i.1 by 7\n"
      "S: unroll i.1\n";
  expect_agreement(kDag, kTrace);
  Array a(DType::F32, {64, 64});
  double sum = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    a.set(i, static_cast<double>(i % 5));
    sum += static_cast<double>(i % 5);
  }
  EXPECT_EQ(run(kDag, kTrace, {a}), std::vector<double>{-sum});
}

TEST(ReportedFaults, C5SaturatingSumsStayInOrder) {
  constexpr std::string_view kUnsigned =
      "combiner sat(acc: u8, x: u8) = u8(min(i32(acc) + i32(x), 255i32)), identity=0u8\n"
      "A = placeholder u8[6]\n"
      "S[] = ordered sat[k: 6](A[k])\n"
      "return S\n";
  EXPECT_EQ(rejection_of(kUnsigned, "S: rfactor k"), RejectionCode::NotReorderable);
  expect_agreement(kUnsigned, "S: split k by 4\n");
  const Array threes = array_of(DType::U8, {6}, {30, 33, 36, 39, 42, 45});
  const Array nines = array_of(DType::U8, {6}, {90, 99, 108, 117, 126, 135});
  EXPECT_EQ(run(kUnsigned, "S: split k by 4\n", {threes}), std::vector<double>{225});
  EXPECT_EQ(run(kUnsigned, "S: unroll k\n", {nines}), std::vector<double>{255});

  constexpr std::string_view kSigned =
      "combiner sat(acc: i8, x: i8) = i8(max(min(i32(acc) + i32(x), 127i32), -128i32)), "
      "identity=0i8\n"
      "A = placeholder i8[3]\n"
      "S[] = ordered sat[k: 3](A[k])\n"
      "return S\n";
  EXPECT_EQ(run(kSigned, "", {array_of(DType::I8, {3}, {127, 127, -128})}),
            std::vector<double>{-1});
}

TEST(ReportedFaults, C7WindowFactoredAsAWhole) {
  constexpr std::string_view kDag =
      "X = placeholder f32[1, 512, 7, 7]\n"
      "P[n: 1, c: 512] = sum[h: 7, w: 7](X[n, c, h, w])\n"
      "Y[n: 1, c: 512] = P[n, c] / 49.0f32\n"
      "return Y\n";
  const Task task = task_of(kDag);
  // The names of the loops that rfactor leaves behind are its own business.
  const State state = replay(task, parse_trace("P: rfactor h w\n", task).value()).take();
  const StageId p = state.find_stage("P");
  const std::string loop = state.loop_name(p, state.stage(p).order[1]);
  const std::string trace =
      "P: rfactor h w -> P.part\nP.part: compute_at P " + loop + "\nP: parallel " + loop + "\n";
  expect_agreement(kDag, trace, false);
  EXPECT_EQ(run(kDag, trace, {filled(DType::F32, {1, 512, 7, 7}, 1)}),
            std::vector<double>(512, 1.0));
}

TEST(ReportedFaults, C9SumOfNothing) {
  constexpr std::string_view kDag =
      "A = placeholder f32[0]\n"
      "S[i: 1] = sum[k: 0](A[k])\n"
      "return S\n";
  for (const std::string_view trace :
       {"", "S: split k by 4\n", "S: rfactor k\n", "S: cache_write at root\n",
        "S: split k by 4\nS: reorder k.0 i k.1\nS: cache_write at k.0\n"}) {
    expect_agreement(kDag, trace);
    EXPECT_EQ(run(kDag, trace, {Array(DType::F32, {0})}), std::vector<double>{0}) << trace;
  }
}

TEST(ReportedFaults, C11EmptyTensors) {
  constexpr std::string_view kDag =
      "A = placeholder f32[0, 10]\n"
      "B[i: 0] = A[floordiv(i, 10), floormod(i, 10)]\n"
      "S[] = max[k: 0](B[k])\n"
      "return B, S\n";
  expect_agreement(kDag, "B: split i by 3\nS: cache_read 0 at root layout [dim 0]\n");
}

TEST(ReportedFaults, C17OutputsAreWrittenWhereTermsAreZeroOrAbsent) {
  expect_agreement(
      "U = placeholder f32[2, 2]\n"
      "T = placeholder f32[2, 3]\n"
      "B[i: 2, j: 3] = sum[k: 2](U[i, k] * T[k, j], where=k < 2 - i)\n"
      "return B\n",
      "B: split i by 3\n"
      "B: split k by 2\n"
      "B: reorder i.0 k.0 i.1 k.1 j\n"
      "B: cache_write at k.0\n"
      "B.acc: vectorize j\n");
}

// Lanes behind the end must not run a division that the program does not contain.
TEST(ReportedFaults, A14NoDivisionIsSpeculated) {
  constexpr std::string_view kDag =
      "A = placeholder i32[25]\n"
      "F[x: 25] = truncdiv(100i32, 27i32 - i32(x)) + A[x]\n"
      "return F\n";
  constexpr std::string_view kTrace =
      "F: split x -> x.0 x.1 by 8\n"
      "F: vectorize x.1\n";
  expect_agreement(kDag, kTrace);
  const std::vector<double> f = run(kDag, kTrace, {filled(DType::I32, {25}, 0)});
  EXPECT_EQ(f.front(), 3);
  EXPECT_EQ(f.back(), 33);
}

TEST(ReportedFaults, A8DivisionByADivisorKnownAtRunTime) {
  constexpr std::string_view kDag =
      "N = placeholder i8[4]\n"
      "D = placeholder i8[]\n"
      "Q[i: 4] = truncdiv(N[i], D[])\n"
      "return Q\n";
  expect_agreement(kDag, "Q: vectorize i\n");
  const Array n = array_of(DType::I8, {4}, {-128, -5, 0, 7});
  EXPECT_EQ(run(kDag, "Q: vectorize i\n", {n, filled(DType::I8, {}, 1)}),
            (std::vector<double>{-128, -5, 0, 7}));
  EXPECT_EQ(run(kDag, "Q: vectorize i\n", {n, filled(DType::I8, {}, 0)}),
            (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(run(kDag, "Q: vectorize i\n", {n, filled(DType::I8, {}, -1)}),
            (std::vector<double>{-128, 5, 0, -7}));
}

TEST(ReportedFaults, D1MaximumWithNaNInEveryLaneAndInTheTail) {
  constexpr std::string_view kDag =
      "A = placeholder f32[37]\n"
      "R[i: 37] = max(A[i], 0.0f32)\n"
      "return R\n";
  constexpr std::string_view kTrace =
      "R: split i -> i.0 i.1 by 16\n"
      "R: vectorize i.1\n";
  for (int64_t at = 0; at < 37; ++at) {
    Array a = filled(DType::F32, {37}, -1);
    a.set(at, NAN);
    const std::vector<double> r = run(kDag, kTrace, {a});
    for (int64_t i = 0; i < 37; ++i) {
      EXPECT_EQ(std::isnan(r[static_cast<size_t>(i)]), i == at) << at << " " << i;
    }
  }
}

constexpr std::string_view kSoftmax =
    "X = placeholder f32[3, 3]\n"
    "M[i: 3] = max[k: 3](X[i, k])\n"
    "E[i: 3, j: 3] = exp(X[i, j] - M[i])\n"
    "S[i: 3] = sum[k: 3](E[i, k])\n"
    "Y[i: 3, j: 3] = E[i, j] / S[i]\n"
    "return Y\n";

TEST(ReportedFaults, D9FullyMaskedRowIsNaNAndAlone) {
  constexpr std::string_view kTrace =
      "S: compute_at Y i\n"
      "E: compute_at Y i\n"
      "M: compute_at Y i\n"
      "Y: vectorize j\n"
      "E: vectorize j\n"
      "Y: parallel i\n";
  expect_agreement(kSoftmax, kTrace, false);
  const double inf = INFINITY;
  const std::vector<double> y = run(
      kSoftmax, kTrace, {array_of(DType::F32, {3, 3}, {1, 1, 1, -inf, -inf, -inf, 0, -inf, 0})});
  for (size_t j = 0; j < 3; ++j) {
    EXPECT_NEAR(y[j], 1.0 / 3, 1e-6);
    EXPECT_TRUE(std::isnan(y[3 + j]));
    EXPECT_NEAR(y[6 + j], j == 1 ? 0 : 0.5, 1e-6);
  }
}

TEST(ReportedFaults, F5WindowSumOfNarrowIntegersInAWideAccumulator) {
  constexpr std::string_view kDag =
      "X = placeholder i8[2, 32, 32]\n"
      "P[c: 2] = sum[h: 32, w: 32](i32(X[c, h, w]))\n"
      "Y[c: 2] = i8(truncdiv(P[c], 1024i32))\n"
      "return Y\n";
  constexpr std::string_view kTrace =
      "P: split w -> w.0 w.1 by 16\n"
      "P: rfactor w.1 -> P.part\n"
      "P.part: reorder c w.1 h w.0\n"
      "P.part: vectorize w.1\n";
  expect_agreement(kDag, kTrace);
  EXPECT_EQ(run(kDag, kTrace, {filled(DType::I8, {2, 32, 32}, 127)}),
            (std::vector<double>{127, 127}));
}

TEST(ReportedFaults, I5OddSizesWithAScalar) {
  expect_agreement(
      "A = placeholder f32[131, 111, 3]\n"
      "B[i: 131, j: 111, k: 3] = A[i, j, k] + 1.0f32\n"
      "return B\n",
      "B: fuse i j k -> i_j_k\n"
      "B: split i_j_k -> i_j_k.0 i_j_k.1 i_j_k.2 by 31 16\n"
      "B: vectorize i_j_k.2\n"
      "B: parallel i_j_k.0\n"
      "B: non_temporal\n");
}

// The default schedule and some samples all exist and compute the same.
void expect_schedules(std::string_view dag) {
  const Task task = task_of(dag);
  const SketchSpace space(task);
  std::vector<Candidate> candidates = {naive_candidate(task), default_candidate(task)};
  Rng rng(1);
  for (int i = 0; i < 6; ++i) {
    const StructurePtr structure = space.draw(rng, 0.5);
    if (!structure) continue;
    if (auto c = draw_numbers(task, *structure, rng, 0.3)) candidates.push_back(*c);
  }
  EXPECT_GT(candidates.size(), 2u) << "no sample is legal";
  for (const Candidate& candidate : candidates) {
    FuzzCase c;
    c.task = task;
    c.trace = candidate.trace();
    c.exact = true;
    const Verdict v = compare_evaluations(c);
    EXPECT_EQ(v.kind, Verdict::Kind::Passed) << v.text << "\n" << to_string(c);
  }
}

TEST(ReportedFaults, J1PrimeExtentsHaveSchedules) {
  expect_schedules(
      "X = placeholder f32[1, 1, 127, 131]\n"
      "W = constant f32[3, 3]\n"
      "Y[n: 1, c: 1, h: 127, w: 131] = sum[r: 3, s: 3](X[n, c, h + r - 1, w + s - 1] * W[r, s], "
      "where=h + r - 1 >= 0 && h + r - 1 < 127 && w + s - 1 >= 0 && w + s - 1 < 131)\n"
      "return Y\n");
}
TEST(ReportedFaults, J1LoneReductionToAScalarHasSchedules) {
  expect_schedules(
      "A = placeholder f32[1021]\n"
      "S[] = sum[k: 1021](A[k])\n"
      "return S\n");
}
TEST(ReportedFaults, J1PureCopyHasSchedules) {
  expect_schedules(
      "A = placeholder f32[127, 131]\n"
      "B[i: 127, j: 131] = A[i, j]\n"
      "return B\n");
}
TEST(ReportedFaults, J3AxesOfExtentOneHaveSchedules) {
  expect_schedules(
      "A = placeholder f32[1, 1]\n"
      "B = constant f32[1, 1]\n"
      "C[i: 1, j: 1] = sum[k: 1](A[i, k] * B[k, j])\n"
      "return C\n");
}
TEST(ReportedFaults, J3OutputWithoutDimensionsHasSchedules) {
  expect_schedules(
      "A = placeholder f32[]\n"
      "B[] = A[] * 2.0f32\n"
      "return B\n");
}
TEST(ReportedFaults, J3TwoOutputsHaveSchedules) {
  expect_schedules(
      "A = placeholder f32[31, 49]\n"
      "M[i: 31] = max[k: 49](A[i, k])\n"
      "B[i: 31, j: 49] = A[i, j] - M[i]\n"
      "return M, B\n");
}

}  // namespace
}  // namespace espalier
