#include "espalier/search/parts.h"

#include "espalier/cost_model/analyzer.h"
#include "espalier/cost_model/ansor_features.h"
#include "espalier/cost_model/features.h"
#include "espalier/cost_model/learned_model.h"
#include "espalier/support/device_model.h"

namespace espalier {
namespace {

// Adds up the time of another model.
class ClockedModel final : public CostModel {
 public:
  ClockedModel(std::shared_ptr<CostModel> model, PhaseClock clock, double PhaseSeconds::* score)
      : model_(std::move(model)), clock_(std::move(clock)), score_(score) {}

  std::string_view name() const override { return model_->name(); }
  void score(const Task& task, std::span<const Candidate> candidates,
             std::span<float> scores) override {
    timed(score_, [&] { model_->score(task, candidates, scores); });
  }
  void update(std::span<const MeasuredRow> rows) override {
    timed(&PhaseSeconds::fit, [&] { model_->update(rows); });
  }
  std::string save() const override { return model_->save(); }
  Result<void> load(std::string_view text) override { return model_->load(text); }

 private:
  // What was added to `features` meanwhile is not counted twice.
  template <class Work>
  void timed(double PhaseSeconds::* phase, const Work& work) {
    const double before = clock_.now(), features = clock_.phases->features;
    work();
    clock_.phases->*phase += clock_.now() - before - (clock_.phases->features - features);
  }

  std::shared_ptr<CostModel> model_;
  PhaseClock clock_;
  double PhaseSeconds::* score_;
};

// Adds up the time that features take.
class ClockedFeatures final : public FeatureSource {
 public:
  ClockedFeatures(std::unique_ptr<const FeatureSource> source, PhaseClock clock)
      : source_(std::move(source)), clock_(std::move(clock)) {}

  std::span<const std::string> names() const override { return source_->names(); }
  void extract(const Task& task, std::span<const Candidate> candidates, int threads,
               std::span<float> values, std::span<float> margins) const override {
    const double before = clock_.now();
    source_->extract(task, candidates, threads, values, margins);
    clock_.phases->features += clock_.now() - before;
  }

 private:
  std::unique_ptr<const FeatureSource> source_;
  PhaseClock clock_;
};

// As Ansor trains its model (OSDI 2020, section 5.2, and its release): squared error, each row
// weighted by its throughput, all trees anew at each update.
LearnedModelOptions ansor_training() {
  LearnedModelOptions options;
  options.adaptation = Adaptation::Scratch;
  options.use_margins = false;
  options.ridge = 0;
  options.least_rows = options.least_calibrated = 16;
  options.labels.least_weight = 1e-3;
  gbdt::FitOptions& fit = options.scratch;
  fit.trees = 100;
  fit.objective.loss = gbdt::Loss::SquaredError;
  fit.tree.max_depth = 10;
  fit.tree.max_leaves = 1024;
  fit.tree.min_child_weight = 1e-3;
  fit.tree.eta = 0.2;
  fit.tree.lambda = 1;
  return options;
}

std::shared_ptr<CostModel> make_verifier(bool of_ansor, const DeviceModel& device, int threads,
                                         const PhaseClock& clock) {
  std::unique_ptr<const FeatureSource> features =
      of_ansor ? make_ansor_features() : make_features(device);
  if (clock.now) features = std::make_unique<ClockedFeatures>(std::move(features), clock);
  LearnedModelOptions options = of_ansor ? ansor_training() : LearnedModelOptions();
  options.threads = threads;
  return make_learned_model(std::move(features), options).value();
}

}  // namespace

bool starts_from_base(std::string_view policy) {
  return policy.substr(0, policy.find(':')) != "ansor";
}

Result<PolicyParts> complete_parts(PolicyParts given, const Task& task, std::string_view policy,
                                   int threads, const PhaseClock& clock) {
  const DeviceModel device = data_sheet(task.target);
  const bool is_ansor = !starts_from_base(policy);
  if (!given.draft) given.draft = make_analyzer(device);
  if (!given.verifier) {
    given.verifier = make_verifier(is_ansor, device, threads, clock);
    if (!given.base.empty()) ESP_TRY_VOID(given.verifier->load(given.base));
  }
  if (clock.now) {
    given.draft = std::make_shared<ClockedModel>(given.draft, clock, &PhaseSeconds::draft);
    given.verifier = std::make_shared<ClockedModel>(given.verifier, clock, &PhaseSeconds::score);
  }
  return given;
}

}  // namespace espalier
