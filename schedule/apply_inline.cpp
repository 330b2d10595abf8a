#include <algorithm>

#include "espalier/schedule/apply.h"
#include "espalier/schedule/code_size.h"

namespace espalier {
namespace {

// The index of a read through an inlined producer: inner's form over the producer's axes, whose
// values are outer's forms over the reader's.
LinearIndex compose(const LinearIndex& inner, const std::vector<LinearIndex>& outer, size_t axes) {
  LinearIndex result;
  result.affine = inner.affine;
  result.offset = inner.offset;
  result.coef.assign(axes, 0);
  for (size_t d = 0; d < inner.coef.size(); ++d) {
    const int64_t c = inner.coef[d];
    if (c == 0) continue;
    const LinearIndex& value = outer[d];
    result.affine = result.affine && value.affine;
    result.offset += c * value.offset;
    for (size_t a = 0; a < value.coef.size(); ++a) result.coef[a] += c * value.coef[a];
  }
  // Not affine: all that matters is which axes occur, and cancelled terms still do.
  if (!result.affine) {
    for (size_t d = 0; d < inner.coef.size(); ++d) {
      if (inner.coef[d] == 0) continue;
      for (size_t a = 0; a < outer[d].coef.size(); ++a) {
        if (outer[d].coef[a] != 0) result.coef[a] = 1;
      }
    }
  }
  return result;
}

}  // namespace

StepApplier::Outcome StepApplier::on(const InlineStep& step) {
  if (Outcome r = check_stage(step.stage)) return r;
  const Stage& inlined = stage(step.stage);
  const StageInfo& info = state_.dag().stage(inlined.op);
  if (!info.inlineable || inlined.role != StageRole::Compute || !unscheduled(step.stage)) {
    return reject(RejectionCode::NotInlineable, step.stage);
  }
  for (StageId c = 0; c < state_.size(); ++c) {
    for (const StageRead& r : stage(c).reads) {
      // A copy holds elements of what it was made from.
      if (r.source == step.stage &&
          (r.kind != StageRead::Kind::Element || !stage(c).layout.empty())) {
        return reject(RejectionCode::NotInlineable, step.stage);
      }
    }
  }
  if (const double size = inlined_code_size(state_, step.stage); size > kMaxInlinedCodeSize) {
    return reject(RejectionCode::TooMuchCode, step.stage, kNoLoop,
                  static_cast<int64_t>(std::min(size, 1e9)),
                  static_cast<int64_t>(kMaxInlinedCodeSize));
  }
  const std::vector<StageRead> through = inlined.reads;
  for (StageId c = 0; c < state_.size(); ++c) {
    const Stage& reader = stage(c);
    if (std::none_of(reader.reads.begin(), reader.reads.end(),
                     [&](const StageRead& r) { return r.source == step.stage; })) {
      continue;
    }
    const StageInfo& reader_info = state_.dag().stage(reader.op);
    const size_t axes = reader_info.axes.size() + reader_info.reduce_axes.size();
    std::vector<StageRead> reads;
    for (const StageRead& r : reader.reads) {
      if (r.source != step.stage) {
        reads.push_back(r);
        continue;
      }
      for (const StageRead& inner : through) {
        StageRead composed;
        composed.source = inner.source;
        composed.producer = inner.producer;
        composed.path = r.path;
        composed.path.insert(composed.path.end(), inner.path.begin(), inner.path.end());
        for (const LinearIndex& index : inner.linear) {
          composed.linear.push_back(compose(index, r.linear, axes));
        }
        reads.push_back(std::move(composed));
      }
    }
    edit(c).reads = std::move(reads);
  }
  Stage& st = edit(step.stage);
  st.attach = AttachKind::Inlined;
  st.order.clear();
  return std::nullopt;
}

}  // namespace espalier
