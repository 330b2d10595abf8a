#include "espalier/cost_model/learned_model.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "espalier/cost_model/test_tasks.h"
#include "espalier/support/rng.h"
#include "gtest/gtest.h"

namespace espalier {
namespace {

// The digits of a candidate's one decision; candidates of 0 do not apply.
class DigitFeatures final : public FeatureSource {
 public:
  explicit DigitFeatures(std::vector<std::string> names = {"low", "middle", "high"})
      : names_(std::move(names)) {}
  std::span<const std::string> names() const override { return names_; }
  void extract(const Task&, std::span<const Candidate> candidates, int, std::span<float> values,
               std::span<float> margins) const override {
    for (size_t i = 0; i < candidates.size(); ++i) {
      const int d = candidates[i].decisions[0];
      const int digits[] = {d % 10, d / 10 % 10, d / 100 % 10};
      for (size_t j = 0; j < 3; ++j) {
        values[3 * i + j] = d == 0 ? NAN : static_cast<float>(digits[j]);
      }
      // Knows of the last digit alone.
      margins[i] = d == 0 ? NAN : -0.1F * static_cast<float>(std::abs(digits[0] - 4));
    }
  }

 private:
  std::vector<std::string> names_;
};

// The best is 4 in the last digit and `middle` in the one before; a first digit of 9 fails.
double time_of(int d, int middle) {
  if (d / 100 % 10 == 9) return 0;
  return 10 * std::exp(0.1 * std::abs(d % 10 - 4) + 0.3 * std::abs(d / 10 % 10 - middle));
}

std::vector<MeasuredRow> rows_of(const Task& task, int count, int middle, uint64_t seed) {
  Rng rng(seed);
  const std::vector<Candidate> all = test_candidates(999);
  std::vector<MeasuredRow> rows;
  for (int i = 0; i < count; ++i) {
    const Candidate& c = all[rng.below(all.size())];
    rows.push_back({&task, c, time_of(c.decisions[0], middle)});
  }
  return rows;
}

std::unique_ptr<CostModel> make(const LearnedModelOptions& options = {}) {
  return make_learned_model(std::make_unique<DigitFeatures>(), options).value();
}

// Share of pairs of all candidates in the right order.
double accuracy_of(CostModel& model, const Task& task, int middle) {
  const std::vector<Candidate> all = test_candidates(899);
  std::vector<float> scores(all.size());
  model.score(task, all, scores);
  double right = 0, pairs = 0;
  for (size_t i = 0; i < all.size(); i += 7) {
    for (size_t j = 0; j < all.size(); j += 5) {
      const double a = time_of(all[i].decisions[0], middle),
                   b = time_of(all[j].decisions[0], middle);
      if (!(a < b * 0.999)) continue;
      right += scores[i] > scores[j] ? 1 : (scores[i] == scores[j] ? 0.5 : 0);
      pairs += 1;
    }
  }
  return right / pairs;
}

TEST(LearnedModel, ScoresByMarginsUntilItHasRows) {
  const Task task = test_task(64);
  const auto model = make();
  const std::vector<Candidate> c = test_candidates(6);
  std::vector<float> scores(6);
  model->score(task, c, scores);
  EXPECT_EQ(scores, (std::vector<float>{-0.3F, -0.2F, -0.1F, 0, -0.1F, -0.2F}));
  model->update(rows_of(task, 3, 7, 1));  // one less than least_calibrated
  model->score(task, c, scores);
  EXPECT_EQ(scores[0], -0.3F);
}

TEST(LearnedModel, IsCalibratedWhereRowsAreTooFewForTrees) {
  const Task task = test_task(64);
  // What is linear in the digits, as digits end there.
  LearnedModelOptions options;
  options.ridge = 0;
  const auto calibrated = make(), uncalibrated = make(options);
  for (CostModel* model : {calibrated.get(), uncalibrated.get()}) {
    model->update(rows_of(task, 23, 9, 1));  // one less than least_rows
  }
  EXPECT_GT(accuracy_of(*calibrated, task, 9), accuracy_of(*uncalibrated, task, 9) + 0.1);
}

TEST(LearnedModel, ASavedCalibrationIsPartOfTheBase) {
  const Task task = test_task(64), other = test_task(128);
  const auto saved = make();
  saved->update(rows_of(task, 15, 9, 1));
  const auto loaded = make();
  ASSERT_TRUE(loaded->load(saved->save()).ok());
  const double before = accuracy_of(*loaded, other, 9);
  loaded->update(rows_of(other, 4, 9, 2));
  EXPECT_GT(accuracy_of(*loaded, other, 9), before - 0.05);
}

TEST(LearnedModel, LearnsFromRows) {
  const Task task = test_task(64);
  const auto model = make();
  const double before = accuracy_of(*model, task, 7);
  model->update(rows_of(task, 200, 7, 1));
  EXPECT_LT(before, 0.75);
  EXPECT_GT(accuracy_of(*model, task, 7), 0.95);
}

TEST(LearnedModel, LearnsWhatFails) {
  const Task task = test_task(64);
  const auto model = make();
  model->update(rows_of(task, 300, 7, 1));
  const std::vector<Candidate> all = test_candidates(999);
  const std::vector<Candidate> pair = {all[974 - 1], all[104 - 1]};  // fails, slow
  std::vector<float> scores(2);
  model->score(task, pair, scores);
  EXPECT_LT(scores[0], scores[1]);
}

TEST(LearnedModel, RefusesWhatDoesNotApply) {
  const Task task = test_task(64);
  const auto model = make();
  std::vector<Candidate> c = test_candidates(2);
  c[0].decisions[0] = 0;
  std::vector<MeasuredRow> rows = rows_of(task, 50, 7, 1);
  rows.push_back({&task, c[0], 0});
  model->update(rows);
  std::vector<float> scores(2);
  model->score(task, c, scores);
  EXPECT_EQ(scores[0], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isfinite(scores[1]));
}

TEST(LearnedModel, HowRowsAreCutIntoUpdatesDoesNotMatter) {
  const Task task = test_task(64), other = test_task(128);
  std::vector<MeasuredRow> rows = rows_of(task, 60, 7, 1);
  for (const MeasuredRow& row : rows_of(other, 60, 2, 2)) rows.push_back(row);
  const auto at_once = make(), in_parts = make();
  at_once->update(rows);
  const std::span<const MeasuredRow> span(rows);
  for (size_t i = 0; i < rows.size(); i += 25) {
    in_parts->update(span.subspan(i, std::min<size_t>(25, rows.size() - i)));
  }
  EXPECT_EQ(at_once->save(), in_parts->save());
}

TEST(LearnedModel, IsTheSameForAnyNumberOfThreads) {
  const Task task = test_task(64);
  LearnedModelOptions options;
  const auto one = make(options);
  options.threads = 4;
  const auto four = make(options);
  for (CostModel* model : {one.get(), four.get()}) model->update(rows_of(task, 100, 7, 1));
  EXPECT_EQ(one->save(), four->save());
}

TEST(LearnedModel, IsReadBackBitForBit) {
  const Task task = test_task(64);
  const auto saved = make(), loaded = make();
  saved->update(rows_of(task, 100, 7, 1));
  ASSERT_TRUE(loaded->load(saved->save()).ok());
  const std::vector<Candidate> c = test_candidates(300);
  std::vector<float> a(300), b(300);
  saved->score(task, c, a);
  loaded->score(task, c, b);
  EXPECT_EQ(a, b);
  EXPECT_EQ(loaded->save(), saved->save());
}

TEST(LearnedModel, ABaseHelpsWithFewRowsAndAdaptationBeatsFreezing) {
  const Task old_task = test_task(64), task = test_task(128);
  const auto base = make();
  base->update(rows_of(old_task, 400, 7, 1));
  const std::string text = base->save();
  const auto accuracy = [&](Adaptation adaptation) {
    LearnedModelOptions options;
    options.adaptation = adaptation;
    const auto model = make(options);
    EXPECT_TRUE(model->load(text).ok());
    model->update(rows_of(task, 24, 6, 5));
    return accuracy_of(*model, task, 6);
  };
  const double scratch = accuracy(Adaptation::Scratch), frozen = accuracy(Adaptation::Frozen);
  EXPECT_GT(frozen, scratch);
  EXPECT_GT(accuracy(Adaptation::RefitDelta), frozen);
  EXPECT_GT(accuracy(Adaptation::Delta), scratch);
  EXPECT_GT(accuracy(Adaptation::Refit), scratch);
}

TEST(LearnedModel, TheSavedBaseMovesSlowlyTowardItsRefit) {
  const Task task = test_task(64);
  const auto base = make();
  base->update(rows_of(task, 200, 7, 1));
  const auto next_text = [&](double momentum) {
    LearnedModelOptions options;
    options.adaptation = Adaptation::Refit;
    options.base_momentum = momentum;
    const auto model = make(options);
    EXPECT_TRUE(model->load(base->save()).ok());
    model->update(rows_of(task, 100, 3, 2));
    return model->save();
  };
  const std::string kept = next_text(1), moved = next_text(0.5), replaced = next_text(0);
  const auto base_of = [](const std::string& text) { return text.substr(text.find("\"base\":")); };
  EXPECT_EQ(base_of(kept), base_of(base->save()));
  EXPECT_NE(base_of(moved), base_of(kept));
  EXPECT_NE(base_of(moved), base_of(replaced));
}

TEST(LearnedModel, RefusesOtherFeatures) {
  const auto model = make();
  const auto other =
      make_learned_model(
          std::make_unique<DigitFeatures>(std::vector<std::string>{"low", "x", "high"}), {})
          .value();
  const Result<void> loaded = other->load(model->save());
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::Unsupported);
  EXPECT_NE(loaded.error().message.find("'middle'"), std::string::npos);
}

TEST(LearnedModel, RefusesOptionsOutOfRange) {
  LearnedModelOptions options;
  options.holdout_share = 1;
  EXPECT_FALSE(make_learned_model(std::make_unique<DigitFeatures>(), options).ok());
  options = {};
  options.delta.tree.lambda = 0;
  EXPECT_FALSE(make_learned_model(std::make_unique<DigitFeatures>(), options).ok());
}

TEST(LearnedModel, AHoldOutStopsTraining) {
  const Task task = test_task(64);
  LearnedModelOptions options;
  options.holdout_share = 0.25;
  options.scratch.patience = 5;
  options.scratch.trees = 400;
  const auto model = make(options);
  model->update(rows_of(task, 200, 7, 1));
  EXPECT_GT(accuracy_of(*model, task, 7), 0.9);
}

}  // namespace
}  // namespace espalier
