// Random tensor programs of one to five stages, small enough for the slow evaluations.
#pragma once

#include "espalier/ir/dag.h"
#include "espalier/support/rng.h"

namespace espalier {

struct RandomDag {
  ComputeDag dag;
  // All operations on floats are exact when the inputs are integers of small magnitude, in whatever
  // order reductions run: every evaluation must give the same values.
  bool exact = false;
  // Whether some reduction leaves out terms, for which a schedule may compute 0 * w instead.
  bool has_absent_terms = false;
};

struct DagHints {
  bool absent_terms = false;  // some reduction should leave out terms
  bool follower = false;      // the last stage should be an element-wise one
};

// Element-wise stages with broadcasts, stencils, contractions, convolutions and pooling (strided,
// dilated, padded), reductions of every kind, transpositions and reshapes, gathers through index
// data, softmax; several dtypes, shared producers, several outputs, rank 0 and empty tensors.
// All stages together run at most about `work` iterations.
RandomDag random_dag(Rng& rng, int64_t work, const DagHints& hints = {});

}  // namespace espalier
