// Learner: hands what was measured to a model, in portions that are worth a fit.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "espalier/cost_model/cost_model.h"
#include "espalier/search/policy.h"

namespace espalier {

class Learner {
 public:
  // The model may be null: then nothing is learnt. It is handed results when `portion` of them have
  // come together, or, if more, `share` of those that it knows.
  Learner(std::shared_ptr<CostModel> model, size_t portion, double share)
      : model_(std::move(model)), portion_(portion), share_(share) {}

  void observe(const SearchContext& context, std::span<const Observation> batch);
  CostModel* model() const { return model_.get(); }
  size_t known() const { return known_; }

 private:
  std::shared_ptr<CostModel> model_;
  size_t portion_;
  double share_;
  size_t known_ = 0;
  std::vector<MeasuredRow> waiting_;
};

// The fastest so far, at most `count`, fastest first.
std::vector<const Observation*> fastest(const History& history, size_t count);

}  // namespace espalier
