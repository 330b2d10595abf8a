// Unification of two programs: stages, axes and reads paired so that the definitions are the same.
#pragma once

#include <optional>

#include "espalier/transfer/dag_map.h"
#include "espalier/transfer/mismatch.h"

namespace espalier {

struct UnifyOptions {
  // Exact, Extents or Units.
  MatchLevel level = MatchLevel::Exact;
  // Units: axes and dimensions of one element do not count. Without it both sides have equal ranks,
  // and one of one element may stand for a longer one.
  bool drop_units = false;
  // Only this pair of stages and not what they read; -1: whole programs, by their outputs.
  int donor_stage = -1, target_stage = -1;
};

// The map at the level of the options (anchors and level filled in), or nothing and the reason that
// was met furthest along the way. Operands of commutative operations and reduction axes may come in
// any order. Terminates after a bounded number of trials.
std::optional<DagMap> unify(const ComputeDag& donor, const ComputeDag& target,
                            const UnifyOptions& options, Mismatch* reason);

}  // namespace espalier
