// A cost model of boosted trees over features, which starts from an analytic estimate.
#pragma once

#include <memory>

#include "espalier/cost_model/calibration.h"
#include "espalier/cost_model/cost_model.h"
#include "espalier/cost_model/feature_source.h"
#include "espalier/cost_model/gbdt/fit.h"
#include "espalier/cost_model/gbdt/refit.h"
#include "espalier/cost_model/labels.h"

namespace espalier {

// What is done with the forest that was loaded (the base) when measurements come in. Without a base
// all but Frozen train from scratch.
enum class Adaptation : uint8_t {
  Scratch,     // forget it
  Frozen,      // learn nothing
  Delta,       // keep it and add trees fitted to what it leaves
  Refit,       // give its leaves new values by the evidence for each
  RefitDelta,  // both, in that order
};

struct LearnedModelOptions {
  Adaptation adaptation = Adaptation::RefitDelta;
  gbdt::FitOptions scratch;  // of all trees, where there is no base
  gbdt::FitOptions delta;    // of the trees on top of a base
  gbdt::RefitOptions refit;
  LabelOptions labels;
  bool use_margins = true;     // start from the estimates of the feature source
  bool center_tasks = true;    // leave out what distinguishes tasks as wholes
  double ridge = 0.5;          // of the calibration that comes before trees (above 0); 0: none
  int least_rows = 24;         // with fewer, no trees are fitted
  int least_calibrated = 4;    // with fewer rows, scores are those of the base and the margins
  double holdout_share = 0;    // of the rows, to stop the training from scratch by; 0: none
  double base_momentum = 0.9;  // of the base when the model is saved, toward what it was refit to
  int threads = 1;             // change nothing but the time

  LearnedModelOptions();
};

// score = margin + calibration + forest. The calibration corrects what the margin and the base say
// linearly, from a few rows; trees learn what it leaves. Each update fits trees anew, from the base
// and all rows so far, so nothing drifts and it does not matter how the rows were cut into updates.
// With center_tasks, each task's mean residual is taken out before fitting, as scores are only
// compared within a task.
//
// A saved model holds the calibration and the forest that score, and the base that a later session
// starts from: what came of training from scratch, or the old base moved slowly toward its refit
// (the source model of Pruner's MoA, its section 4.3). Rows are not in it: they are in the records.
//
// Errors: InvalidArgument for options out of range.
Result<std::unique_ptr<CostModel>> make_learned_model(std::unique_ptr<const FeatureSource> features,
                                                      const LearnedModelOptions& options);

}  // namespace espalier
