#include "espalier/schedule/apply.h"
#include "espalier/support/number.h"

namespace espalier {

StepApplier::Outcome StepApplier::on(const PadStep& step) {
  if (Outcome r = check_leaf(step.stage, step.axis)) return r;
  const Stage& before = stage(step.stage);
  if (step.multiple.value < 1) {
    return reject(RejectionCode::BadFactor, step.stage, step.axis, step.multiple.value);
  }
  if (before.attach != AttachKind::Root || before.role != StageRole::Compute ||
      step.axis >= before.spatial_axes + before.reduce_axes || attached_anywhere(step.stage) ||
      before.shares >= 0 || shared(step.stage) || !before.stored_at_root) {
    return reject(RejectionCode::NotAttachable, step.stage, step.axis);
  }
  // An output has the size that the caller gave it.
  const bool spatial = step.axis < before.spatial_axes;
  if (spatial && state_.dag().stage(before.op).is_output) {
    return reject(RejectionCode::IsOutput, step.stage, step.axis);
  }
  const int64_t extent = loop(before, step.axis).extent;
  const std::optional<int64_t> room = checked_add(extent, step.multiple.value - 1);
  if (!room) return reject(RejectionCode::Overflow, step.stage, step.axis);
  const int64_t padded = *room / step.multiple.value * step.multiple.value;
  Stage& st = edit(step.stage);
  st.loops[static_cast<size_t>(step.axis)].extent = padded;
  if (spatial) st.storage_extent[static_cast<size_t>(step.axis)] = padded;
  return std::nullopt;
}

}  // namespace espalier
