// Rejection: why a step does not apply. A few words of plain data; explain() in schedule/explain.h
// turns it into a sentence with the nest and the loop marked.
#pragma once

#include "espalier/schedule/step.h"

namespace espalier {

enum class RejectionCode : uint8_t {
  NoSuchStage,
  NoSuchLoop,
  NoSuchRead,
  LoopNotLeaf,     // consumed by a split or fuse, or moved away
  BadFactor,       // a factor below 1, or their product overflows
  NotAdjacent,     // fused loops do not follow one another
  MixedKinds,      // spatial and reduction loops together
  NotReorderable,  // the combiner is not declared associative and commutative
  AttachedHere,    // the change would move loops across one where a stage is attached
  ReductionLoop,   // parallel or vectorize on a reduction loop
  AlreadyAnnotated,
  NotInlineable,
  NotAttachable,     // a root stage is needed, or one that was not scheduled yet
  NotEnclosing,      // the loop does not enclose all consumers
  NotElementwise,    // the consumer does not read the stage at its own index
  LayoutIncomplete,  // loops below the attach point that the read uses are not covered
  LayoutInvalid,     // an entry names something that cannot be a dimension of the copy
  NotConstant,       // pack_constant of something that is not a constant
  NotReduction,
  NotShareable,  // types or shapes differ, or it is read elsewhere
  NotUnrolled,   // registers: a loop of the tile is neither unrolled nor vectorized
  TooManyRegisters,
  TooMuchCode,
  TooManyParts,  // partition: more than 9 copies
  TooManyLanes,
  TooManyLoops,     // of one stage
  TooManyStages,    // added by steps
  NotAccumulating,  // rfactor, cache_write: the stage was already rewritten
  IsOutput,
  Overflow,  // a buffer or extent too large
};
std::string_view name_of(RejectionCode c);

struct Rejection {
  RejectionCode code{};
  int16_t step = -1;  // position in the trace
  StageId stage = -1;
  LoopId loop = kNoLoop;
  int64_t a = 0, b = 0;  // numbers that the sentence mentions
};

}  // namespace espalier
