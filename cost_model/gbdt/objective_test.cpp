#include "espalier/cost_model/gbdt/objective.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "espalier/cost_model/gbdt/lambda_rank.h"
#include "espalier/cost_model/gbdt/test_tables.h"
#include "gtest/gtest.h"

namespace espalier::gbdt {
namespace {

struct Derivatives {
  std::vector<float> g, h;
};
Derivatives derivatives_of(const TrainingSet& set, const ObjectiveOptions& options,
                           const std::vector<double>& scores, int threads = 1) {
  Derivatives d{std::vector<float>(scores.size()), std::vector<float>(scores.size())};
  Objective(set, options).differentiate(scores, threads, d.g, d.h);
  return d;
}

std::vector<double> random_scores(size_t rows, uint64_t seed) {
  Rng rng(seed);
  std::vector<double> scores(rows);
  // As floats, which is what derivatives are taken at.
  for (double& s : scores) s = static_cast<double>(static_cast<float>(rng.normal()));
  return scores;
}

TEST(SquaredError, DerivativesAgreeWithFiniteDifferences) {
  TestTable table = random_table(20, 2, 1);
  Rng rng(5);
  for (size_t i = 0; i < 20; ++i) table.weights.push_back(static_cast<float>(rng.uniform()));
  const TrainingSet set = table.set();
  const std::vector<double> scores = random_scores(20, 2);
  const Derivatives d = derivatives_of(set, {}, scores);
  const auto loss = [&](const std::vector<double>& s) {
    double sum = 0;
    for (size_t i = 0; i < s.size(); ++i) {
      sum += 0.5 * static_cast<double>(table.weights[i]) *
             std::pow(s[i] - static_cast<double>(table.labels[i]), 2);
    }
    return sum;
  };
  constexpr double kStep = 1e-4;
  for (size_t i = 0; i < scores.size(); ++i) {
    std::vector<double> up = scores, down = scores;
    up[i] += kStep;
    down[i] -= kStep;
    EXPECT_NEAR(static_cast<double>(d.g[i]), (loss(up) - loss(down)) / (2 * kStep), 1e-6);
    EXPECT_NEAR(static_cast<double>(d.h[i]),
                (loss(up) - 2 * loss(scores) + loss(down)) / (kStep * kStep), 1e-5);
  }
}

// The loss of objective.h for one group, with D and Z held as they are at `base`, by the
// definition: pair by pair, in double precision.
class HeldRankLoss {
 public:
  HeldRankLoss(const TestTable& table, const std::vector<uint32_t>& rows,
               const std::vector<double>& base, const ObjectiveOptions& options)
      : rows_(rows), options_(options) {
    std::vector<size_t> order(rows.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const double x = base[rows[a]], y = base[rows[b]];
      return x != y ? x > y : a < b;
    });
    std::vector<size_t> rank(rows.size());
    for (size_t k = 0; k < order.size(); ++k) rank[order[k]] = k;
    const auto gain = [&](size_t a) {
      return std::exp(static_cast<double>(table.labels[rows[a]]));
    };
    const auto discount = [&](size_t a) {
      return 1 / std::log2(2.0 + static_cast<double>(rank[a]));
    };
    double sum = 0;
    for (size_t a = 0; a < rows.size(); ++a) {
      for (size_t b = 0; b < rows.size(); ++b) {
        if (table.labels[rows[a]] <= table.labels[rows[b]]) continue;
        if (std::min(rank[a], rank[b]) >= static_cast<size_t>(options.truncation)) continue;
        const double distance = std::abs(base[rows[a]] - base[rows[b]]);
        const double weight =
            std::abs(gain(a) - gain(b)) * std::abs(discount(a) - discount(b)) / (0.01 + distance);
        pairs_.push_back({rows[a], rows[b], weight});
        sum += weight;
      }
    }
    for (Pair& pair : pairs_) pair.weight *= static_cast<double>(rows.size()) / sum;
  }

  double operator()(const std::vector<double>& s) const {
    double loss = 0;
    for (const Pair& p : pairs_) {
      loss += p.weight * std::log1p(std::exp(-options_.sigma * (s[p.better] - s[p.worse])));
    }
    return loss;
  }

 private:
  struct Pair {
    uint32_t better, worse;
    double weight;
  };
  std::vector<uint32_t> rows_;
  ObjectiveOptions options_;
  std::vector<Pair> pairs_;
};

void check_rank_derivatives(const TestTable& table, const std::vector<double>& scores,
                            const ObjectiveOptions& options) {
  const TrainingSet set = table.set();
  const Derivatives d = derivatives_of(set, options, scores);
  const Groups groups(set);
  constexpr double kStep = 1e-3;
  for (size_t group = 0; group < groups.size(); ++group) {
    const std::span<const uint32_t> span = groups.rows(group);
    const std::vector<uint32_t> rows(span.begin(), span.end());
    const HeldRankLoss loss(table, rows, scores, options);
    for (uint32_t i : rows) {
      std::vector<double> up = scores, down = scores;
      up[i] += kStep;
      down[i] -= kStep;
      const double slope = (loss(up) - loss(down)) / (2 * kStep);
      const double curve = (loss(up) - 2 * loss(scores) + loss(down)) / (kStep * kStep);
      EXPECT_NEAR(static_cast<double>(d.g[i]), slope, 1e-4 * std::max(1.0, std::abs(slope)));
      EXPECT_NEAR(static_cast<double>(d.h[i]), curve, 1e-4 * std::max(1.0, curve));
    }
  }
}

TEST(LambdaRank, DerivativesAgreeWithFiniteDifferences) {
  const TestTable table = random_table(60, 2, 4);
  check_rank_derivatives(table, random_scores(60, 3), {Loss::LambdaRank, 1, 1000});
}

TEST(LambdaRank, DerivativesWithTruncationAndSteepness) {
  const TestTable table = random_table(97, 2, 4);
  check_rank_derivatives(table, random_scores(97, 3), {Loss::LambdaRank, 2.5, 5});
}

TEST(LambdaRank, DerivativesWithTiesOfScoresAndLabels) {
  TestTable table = random_table(45, 2, 4);
  for (float& label : table.labels) label = std::round(label);
  std::vector<double> scores = random_scores(45, 3);
  for (double& s : scores) s = std::round(s);
  check_rank_derivatives(table, scores, {Loss::LambdaRank, 1, 7});
}

TEST(LambdaRank, GradientsOfAGroupSumToZero) {
  const TestTable table = random_table(300, 2, 4);
  const Derivatives d =
      derivatives_of(table.set(), {Loss::LambdaRank, 1, 64}, random_scores(300, 1));
  EXPECT_NEAR(std::accumulate(d.g.begin(), d.g.end(), 0.0), 0, 1e-3);
}

TEST(LambdaRank, EqualLabelsAndSingleRowsPullNowhere) {
  TestTable table;
  table.columns = 1;
  table.values = {1, 2, 3};
  table.labels = {-1, -1, -2};
  table.groups = {0, 0, 1};
  const Derivatives d = derivatives_of(table.set(), {Loss::LambdaRank, 1, 64}, {0, 1, 2});
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(d.g[i], 0);
    EXPECT_GT(d.h[i], 0);
  }
}

TEST(LambdaRank, FarApartScoresStayFinite) {
  const TestTable table = random_table(30, 2, 4);
  std::vector<double> scores = random_scores(30, 1);
  for (double& s : scores) s *= 1e5;
  const Derivatives d = derivatives_of(table.set(), {Loss::LambdaRank, 1, 64}, scores);
  for (size_t i = 0; i < 30; ++i) {
    EXPECT_TRUE(std::isfinite(d.g[i]));
    EXPECT_TRUE(std::isfinite(d.h[i]) && d.h[i] > 0);
  }
}

TEST(LambdaRank, IsTheSameForAnyNumberOfThreads) {
  const TestTable table = random_table(20000, 2, 4);
  const std::vector<double> scores = random_scores(20000, 1);
  const ObjectiveOptions options{Loss::LambdaRank, 1, 64};
  const Derivatives one = derivatives_of(table.set(), options, scores, 1);
  for (int threads : {2, 4}) {
    const Derivatives more = derivatives_of(table.set(), options, scores, threads);
    EXPECT_EQ(one.g, more.g);
    EXPECT_EQ(one.h, more.h);
  }
}

TEST(Ndcg, ByHand) {
  const std::vector<float> gains = {1, 0.5F, 0.25F};
  EXPECT_DOUBLE_EQ(ndcg(std::vector<float>{3, 2, 1}, gains, 64), 1);
  const double second = 1 / std::log2(3.0);
  const double ideal = 1 + 0.5 * second;
  EXPECT_NEAR(ndcg(std::vector<float>{1, 2, 3}, gains, 2), (0.25 + 0.5 * second) / ideal, 1e-12);
}

TEST(Objective, LossIsZeroForThePerfectOrder) {
  const TestTable table = random_table(50, 2, 4);
  std::vector<double> scores(table.labels.begin(), table.labels.end());
  EXPECT_NEAR(Objective(table.set(), {Loss::LambdaRank, 1, 64}).loss(scores), 0, 1e-12);
  EXPECT_EQ(Objective(table.set(), {}).loss(scores), 0);
  for (double& s : scores) s = -s;
  EXPECT_GT(Objective(table.set(), {Loss::LambdaRank, 1, 64}).loss(scores), 0.1);
}

}  // namespace
}  // namespace espalier::gbdt
