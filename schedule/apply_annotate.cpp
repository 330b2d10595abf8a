#include "espalier/schedule/apply.h"

#include <algorithm>

namespace espalier {

StepApplier::Outcome StepApplier::on(const AnnotateStep& step) {
  if (step.annotation == Annotation::NonTemporal || step.annotation == Annotation::Registers) {
    if (Outcome r = check_stage(step.stage)) return r;
    if (step.annotation == Annotation::NonTemporal) {
      edit(step.stage).non_temporal = true;
      return std::nullopt;
    }
    if (Outcome r = check_registers(step.stage)) return r;
    edit(step.stage).registers = true;
    return std::nullopt;
  }

  if (Outcome r = check_leaf(step.stage, step.loop)) return r;
  const Stage& st = stage(step.stage);
  const Loop& lp = loop(st, step.loop);
  const bool has_kind = lp.parallel || lp.vectorize || lp.unroll;
  switch (step.annotation) {
    case Annotation::Parallel: {
      if (lp.reduce) return reject(RejectionCode::ReductionLoop, step.stage, step.loop);
      if (has_kind) return reject(RejectionCode::AlreadyAnnotated, step.stage, step.loop);
      // Iterations of a parallel loop are whole tasks: nothing outside it may be lanes.
      for (int i = 0; i < position(st, step.loop); ++i) {
        const Loop& outer = loop(st, st.order[static_cast<size_t>(i)]);
        if (outer.parallel || outer.vectorize || outer.unroll) {
          return reject(RejectionCode::AlreadyAnnotated, step.stage,
                        st.order[static_cast<size_t>(i)]);
        }
      }
      edit(step.stage).loops[static_cast<size_t>(step.loop)].parallel = true;
      return std::nullopt;
    }
    case Annotation::Vectorize: {
      if (has_kind) return reject(RejectionCode::AlreadyAnnotated, step.stage, step.loop);
      // The final combine of lanes: the innermost loop, over partial results that lie side by side.
      const bool lanes = st.role == StageRole::Final && st.order.back() == step.loop;
      if (lp.reduce && !lanes) return reject(RejectionCode::ReductionLoop, step.stage, step.loop);
      if (lp.extent > 4096) {
        return reject(RejectionCode::TooManyLanes, step.stage, step.loop, lp.extent, 4096);
      }
      for (LoopId l : st.order) {
        if (loop(st, l).vectorize) return reject(RejectionCode::AlreadyAnnotated, step.stage, l);
      }
      // Lanes run side by side: no stage of its own runs inside them.
      for (size_t i = static_cast<size_t>(position(st, step.loop)); i < st.order.size(); ++i) {
        if (attached_at(step.stage, st.order[i])) {
          return reject(RejectionCode::AttachedHere, step.stage, st.order[i]);
        }
      }
      edit(step.stage).loops[static_cast<size_t>(step.loop)].vectorize = true;
      return std::nullopt;
    }
    case Annotation::Unroll: {
      if (has_kind) return reject(RejectionCode::AlreadyAnnotated, step.stage, step.loop);
      if (step.arg.value < 0) {
        return reject(RejectionCode::BadFactor, step.stage, step.loop, step.arg.value);
      }
      if (step.arg.value > 0 && lp.extent > step.arg.value) return std::nullopt;
      if (lp.extent > 1024) {
        return reject(RejectionCode::TooMuchCode, step.stage, step.loop, lp.extent, 1024);
      }
      edit(step.stage).loops[static_cast<size_t>(step.loop)].unroll = true;
      return std::nullopt;
    }
    case Annotation::Prefetch: {
      if (step.arg.value < 1) {
        return reject(RejectionCode::BadFactor, step.stage, step.loop, step.arg.value);
      }
      edit(step.stage).loops[static_cast<size_t>(step.loop)].prefetch =
          static_cast<int32_t>(step.arg.value);
      return std::nullopt;
    }
    case Annotation::Partition: {
      // Three parts a loop; two such loops make nine copies, and that is the most.
      int already = 0;
      for (LoopId l : st.order) already += loop(st, l).partition;
      if (lp.partition || lp.vectorize) {
        return reject(RejectionCode::AlreadyAnnotated, step.stage, step.loop);
      }
      if (already >= 2) return reject(RejectionCode::TooManyParts, step.stage, step.loop, 27, 9);
      edit(step.stage).loops[static_cast<size_t>(step.loop)].partition = true;
      return std::nullopt;
    }
    case Annotation::NonTemporal:
    case Annotation::Registers: break;
  }
  return std::nullopt;
}

// A stage can live in registers when every loop that indexes its buffer is straight code or lanes,
// in the stage itself, and the values fit beside two operands.
StepApplier::Outcome StepApplier::check_registers(StageId s) const {
  const Stage& st = stage(s);
  if (st.stored_at_root || st.role == StageRole::Input || st.shares >= 0) {
    return reject(RejectionCode::NotAttachable, s);
  }
  const StageInfo& info = state_.dag().stage(st.op);
  if (info.is_output && !st.partial && st.role != StageRole::Accumulate &&
      st.role != StageRole::Copy) {
    return reject(RejectionCode::IsOutput, s);
  }
  const Target& target = state_.task().target;
  const int lanes = std::max(1, target.vector_bits / 8 / bytes_of(info.tensor->dtype));
  int64_t vectors = 1;
  for (LoopId l : st.order) {
    const Loop& lp = loop(st, l);
    if (lp.reduce || lp.extent == 1) continue;
    if (lp.vectorize) {
      vectors *= (lp.extent + lanes - 1) / lanes;
    } else if (lp.unroll) {
      vectors *= lp.extent;
    } else {
      return reject(RejectionCode::NotUnrolled, s, l);
    }
    if (vectors > target.vector_registers) {
      return reject(RejectionCode::TooManyRegisters, s, l, vectors, target.vector_registers);
    }
  }
  return std::nullopt;
}

}  // namespace espalier
