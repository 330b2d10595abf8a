#include "espalier/cost_model/gbdt/lambda_rank.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

// How vectors are passed does not matter here: what takes them is always inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace espalier::gbdt {
namespace {

// Vectors of the compiler; elementwise and without fused operations, as in histogram.cpp, so that
// every machine computes the same bits.
constexpr size_t kWidth = 8;
using Float8 = float __attribute__((vector_size(32)));
using Int8 = int32_t __attribute__((vector_size(32)));
#define ESP_INLINE inline __attribute__((always_inline))

ESP_INLINE Float8 load(const float* p) {
  Float8 v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}
ESP_INLINE void store(float* p, Float8 v) { std::memcpy(p, &v, sizeof(v)); }
ESP_INLINE Float8 splat(float x) { return Float8{} + x; }
ESP_INLINE Float8 absolute(Float8 v) {
  return reinterpret_cast<Float8>(reinterpret_cast<Int8>(v) & 0x7fffffff);
}

// e^x for |x| <= 60, beyond as at the ends; relative error about 1e-7. 2^k by the exponent field,
// the rest by its Taylor series on [-ln 2 / 2, ln 2 / 2].
ESP_INLINE Float8 exponential(Float8 x) {
  x = x > 60.0F ? splat(60.0F) : x;
  x = x < -60.0F ? splat(-60.0F) : x;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const Float8 shifted = x * 1.44269504F + kRound;
  const Float8 k = shifted - kRound;
  const Float8 r = (x - k * 0.693359375F) - k * -2.12194440e-4F;  // ln 2 in two parts
  Float8 p = splat(1.0F / 720);
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const Int8 exponent = (reinterpret_cast<Int8>(shifted) << 23) + (127 << 23);
  return p * reinterpret_cast<Float8>(exponent);
}

// The rows of a group in rank order, with room up to a multiple of kWidth.
struct RankedGroup {
  size_t rows;
  const float* scores;
  const float* gains;
  const float* discounts;
  float* gradients;
  float* hessians;
};

// All pairs of `first` with the places after it. Returns the sum of D.
ESP_INLINE double add_pairs(const RankedGroup& group, size_t first, float sigma) {
  const Float8 score = splat(group.scores[first]), gain = splat(group.gains[first]);
  const Float8 discount = splat(group.discounts[first]);
  Float8 g_first{}, h_first{}, d_sum{};
  for (size_t j = first / kWidth * kWidth; j < group.rows; j += kWidth) {
    // Pairs that are none are masked by their distance in gain.
    Float8 gap = gain - load(group.gains + j);
    if (j <= first || j + kWidth > group.rows) {
      for (size_t lane = 0; lane < kWidth; ++lane) {
        if (j + lane <= first || j + lane >= group.rows) gap[lane] = 0;
      }
    }
    const Float8 distance = score - load(group.scores + j);
    const Float8 weight = absolute(gap) * absolute(discount - load(group.discounts + j)) /
                          (0.01F + absolute(distance));
    const Float8 sign = gap > 0.0F ? splat(1.0F) : splat(-1.0F);
    const Float8 margin = sign * distance * sigma;
    const Float8 r = 1.0F / (1.0F + exponential(margin));
    const Float8 slope = weight * r;
    const Float8 lambda = sign * slope;
    const Float8 curve = slope * (1.0F - r);
    store(group.gradients + j, load(group.gradients + j) + lambda);
    store(group.hessians + j, load(group.hessians + j) + curve);
    g_first -= lambda;
    h_first += curve;
    d_sum += weight;
  }
  double d = 0;
  for (size_t lane = 0; lane < kWidth; ++lane) {
    group.gradients[first] += g_first[lane];
    group.hessians[first] += h_first[lane];
    d += static_cast<double>(d_sum[lane]);
  }
  return d;
}

ESP_INLINE double add_all_pairs(const RankedGroup& group, size_t firsts, float sigma) {
  double sum = 0;
  for (size_t i = 0; i < firsts; ++i) sum += add_pairs(group, i, sigma);
  return sum;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) double add_all_pairs_wide(const RankedGroup& group, size_t firsts,
                                                          float sigma) {
  return add_all_pairs(group, firsts, sigma);
}
#endif

double sum_pairs(const RankedGroup& group, size_t firsts, float sigma) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0) return add_all_pairs_wide(group, firsts, sigma);
#endif
  return add_all_pairs(group, firsts, sigma);
}

double discount_of(size_t rank) { return 1 / std::log2(2 + static_cast<double>(rank)); }

double dcg(std::span<const float> gains_by_rank, size_t truncation) {
  double sum = 0;
  for (size_t i = 0; i < std::min(gains_by_rank.size(), truncation); ++i) {
    sum += static_cast<double>(gains_by_rank[i]) * discount_of(i);
  }
  return sum;
}

}  // namespace

void sort_by_score(std::span<const float> scores, std::vector<uint64_t>& order) {
  order.resize(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(scores[i] == 0 ? 0.0F : scores[i]);
    const uint32_t ascending = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
    order[i] = static_cast<uint64_t>(~ascending) << 32 | i;
  }
  std::sort(order.begin(), order.end());
}

void lambda_rank(std::span<const float> scores, std::span<const float> gains, double sigma,
                 int truncation, RankScratch& scratch, std::span<float> gradients,
                 std::span<float> hessians) {
  const size_t rows = scores.size();
  const size_t padded = (rows + kWidth - 1) / kWidth * kWidth;
  sort_by_score(scores, scratch.order);
  for (std::vector<float>* v : {&scratch.scores, &scratch.gains, &scratch.discounts,
                                &scratch.gradients, &scratch.hessians}) {
    v->assign(padded, 0);
  }
  for (size_t i = 0; i < rows; ++i) {
    const size_t row = static_cast<uint32_t>(scratch.order[i]);
    scratch.scores[i] = scores[row];
    scratch.gains[i] = gains[row];
    scratch.discounts[i] = static_cast<float>(discount_of(i));
  }
  const size_t firsts = std::min(rows, static_cast<size_t>(std::max(truncation, 1)));
  const RankedGroup group{rows,
                          scratch.scores.data(),
                          scratch.gains.data(),
                          scratch.discounts.data(),
                          scratch.gradients.data(),
                          scratch.hessians.data()};
  const double sum = sum_pairs(group, firsts, static_cast<float>(sigma));
  const double unit = sum > 0 ? static_cast<double>(rows) / sum : 0;
  constexpr float kLeastHessian = 1e-6F;  // where a row is in no pair
  for (size_t i = 0; i < rows; ++i) {
    const size_t row = static_cast<uint32_t>(scratch.order[i]);
    gradients[row] = static_cast<float>(unit * sigma) * scratch.gradients[i];
    hessians[row] =
        std::max(static_cast<float>(unit * sigma * sigma) * scratch.hessians[i], kLeastHessian);
  }
}

double ndcg(std::span<const float> scores, std::span<const float> gains, int truncation) {
  std::vector<uint64_t> order;
  sort_by_score(scores, order);
  std::vector<float> by_score(gains.size()), best(gains.begin(), gains.end());
  for (size_t i = 0; i < gains.size(); ++i) by_score[i] = gains[static_cast<uint32_t>(order[i])];
  std::sort(best.begin(), best.end(), std::greater<>());
  const size_t limit = static_cast<size_t>(std::max(truncation, 1));
  const double ideal = dcg(best, limit);
  return ideal > 0 ? dcg(by_score, limit) / ideal : 1;
}

}  // namespace espalier::gbdt
