// New leaf values for an old forest: adaptation that keeps its structure.
#pragma once

#include "espalier/cost_model/gbdt/forest.h"
#include "espalier/cost_model/gbdt/objective.h"
#include "espalier/support/result.h"

namespace espalier::gbdt {

struct RefitOptions {
  ObjectiveOptions objective;
  double lambda = 1;  // > 0, as in TreeOptions
  // A leaf that n of the new rows reach keeps kappa / (kappa + n) of its value, so that it moves by
  // the evidence for it, and one that none reaches stays as it is. 0 forgets the old values.
  double kappa = 20;
  // If 0 or more: every reached leaf keeps this share instead, as LightGBM's refit does.
  double fixed_share = -1;
  int threads = 1;  // change nothing but the time
};

// Errors: InvalidArgument, naming what is out of range.
Result<void> check(const RefitOptions& options);

// The forest with leaf values v <- d v + (1 - d) v', where v' = -eta G / (H + lambda) with G and H
// over the new rows in the leaf, at the scores of the trees before it as they are after their own
// refit (XGBoost's "refresh", with a momentum d that depends on the evidence). This is the
// fine-tuning step of Pruner's MoA (section 4.3) carried over to trees. With squared error the base
// score moves likewise toward the mean of what the forest leaves, since a new task shifts all
// labels alike. The order of rows within the set changes results by rounding only.
Result<Forest> refit(const Forest& forest, const TrainingSet& set, const RefitOptions& options);

}  // namespace espalier::gbdt
