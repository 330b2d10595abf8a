// Attached stages compute no more than what their own sources were made for.
#include <algorithm>

#include "espalier/schedule/lower_context.h"

namespace espalier {

// Copies and attached stages that `s` takes from, directly or through others. Stages that a step
// has split off are computed for the same elements, so they all count.
std::vector<StageId> LowerContext::partial_sources(StageId s) const {
  std::vector<StageId> found, open = {stage(s).base_stage};
  while (!open.empty()) {
    const StageId base = open.back();
    open.pop_back();
    for (StageId t = 0; t < state_.size(); ++t) {
      const bool part = stage(t).layout.empty() ? stage(t).base_stage == base : t == base;
      if (!part || stage(t).attach == AttachKind::Inlined) continue;
      for (const StageRead& r : stage(t).reads) {
        const Stage& source = stage(r.source);
        const bool copy = !source.layout.empty();
        if (source.role == StageRole::Input || (source.attach == AttachKind::Root && !copy))
          continue;
        if (std::find(found.begin(), found.end(), r.source) != found.end()) continue;
        found.push_back(r.source);
        open.push_back(copy ? r.source : source.base_stage);
      }
    }
  }
  return found;
}

// A stage that is computed for a box runs over all of it, also where its readers' tails need less.
// Its sources further out, however, hold just what the readers need over all their iterations: that
// bounds the elements here.
std::vector<Expr> LowerContext::within_sources(StageId s, int axis, const Expr& value) {
  std::vector<Expr> conditions;
  for (StageId source : partial_sources(s)) {
    const std::optional<Span> held = coordinates_.region_known_to(source, s, axis);
    if (!held) continue;
    Linear end = held->base;
    end.offset += held->width;
    conditions.push_back(value >= to_expr(held->base));
    conditions.push_back(value < to_expr(end));
  }
  return conditions;
}

}  // namespace espalier
