// Gradient boosting: a forest fitted to a training set.
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/cost_model/gbdt/binning.h"
#include "espalier/cost_model/gbdt/forest.h"
#include "espalier/cost_model/gbdt/objective.h"
#include "espalier/cost_model/gbdt/tree_builder.h"
#include "espalier/support/result.h"

namespace espalier::gbdt {

struct FitOptions {
  int trees = 100;
  TreeOptions tree;
  ObjectiveOptions objective;
  int max_bins = kMaxBins;
  double row_share = 1;     // of the rows, drawn anew for each tree; in (0, 1]
  double column_share = 1;  // of the columns, likewise; in (0, 1]
  // With a hold-out set: stop after so many trees without a lower loss on it, and keep the trees up
  // to the lowest. 0: keep all.
  int patience = 0;
  uint64_t seed = 0;  // of the shares
  int threads = 1;    // change nothing but the time
};

// Errors: InvalidArgument, naming what is out of range.
Result<void> check(const FitOptions& options);

struct FitReport {
  std::vector<double> training_loss;  // before the first tree and after each (Objective::loss)
  std::vector<double> holdout_loss;   // the same, with a hold-out set
  double bin_seconds = 0, grow_seconds = 0;
};

// Fits trees in turn, each to the derivatives of the objective at the scores of those before it
// (Friedman, "Greedy function approximation", 2001, with second-order leaves as in XGBoost).
// Scores start from the set's margins, so that the trees learn what the margins lack; add the same
// margins when predicting. With squared error the base score is the weighted mean of what is left;
// otherwise 0. Fewer trees than asked for: no split gained anything more, or the hold-out stopped
// it. An incremental model is margins = base.predict(...), then base.append(fit(...)).
//
// Errors: InvalidArgument for options out of range and for what check(TrainingSet) finds.
Result<Forest> fit(const TrainingSet& set, const FitOptions& options,
                   const TrainingSet* holdout = nullptr, FitReport* report = nullptr);

}  // namespace espalier::gbdt
