#include "espalier/schedule/rejection.h"

#include "espalier/support/check.h"

namespace espalier {

std::string_view name_of(RejectionCode c) {
  switch (c) {
    case RejectionCode::NoSuchStage: return "no_such_stage";
    case RejectionCode::NoSuchLoop: return "no_such_loop";
    case RejectionCode::NoSuchRead: return "no_such_read";
    case RejectionCode::LoopNotLeaf: return "loop_not_leaf";
    case RejectionCode::BadFactor: return "bad_factor";
    case RejectionCode::NotAdjacent: return "not_adjacent";
    case RejectionCode::MixedKinds: return "mixed_kinds";
    case RejectionCode::NotReorderable: return "not_reorderable";
    case RejectionCode::AttachedHere: return "attached_here";
    case RejectionCode::ReductionLoop: return "reduction_loop";
    case RejectionCode::AlreadyAnnotated: return "already_annotated";
    case RejectionCode::NotInlineable: return "not_inlineable";
    case RejectionCode::NotAttachable: return "not_attachable";
    case RejectionCode::NotEnclosing: return "not_enclosing";
    case RejectionCode::NotElementwise: return "not_elementwise";
    case RejectionCode::LayoutIncomplete: return "layout_incomplete";
    case RejectionCode::LayoutInvalid: return "layout_invalid";
    case RejectionCode::NotConstant: return "not_constant";
    case RejectionCode::NotReduction: return "not_reduction";
    case RejectionCode::NotShareable: return "not_shareable";
    case RejectionCode::NotUnrolled: return "not_unrolled";
    case RejectionCode::TooManyRegisters: return "too_many_registers";
    case RejectionCode::TooMuchCode: return "too_much_code";
    case RejectionCode::TooManyParts: return "too_many_parts";
    case RejectionCode::TooManyLanes: return "too_many_lanes";
    case RejectionCode::TooManyLoops: return "too_many_loops";
    case RejectionCode::TooManyStages: return "too_many_stages";
    case RejectionCode::NotAccumulating: return "not_accumulating";
    case RejectionCode::IsOutput: return "is_output";
    case RejectionCode::Overflow: return "overflow";
  }
  ESP_UNREACHABLE("rejection code ", static_cast<int>(c));
}

}  // namespace espalier
