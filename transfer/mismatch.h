// Mismatch: why two programs, or their main stages, do not stand for one another.
#pragma once

#include <cstdint>
#include <string>

#include "espalier/transfer/dag_map.h"

namespace espalier {

enum class MismatchCode : uint8_t {
  NothingComputed,  // one of the programs has no stage that computes
  StageCount,       // different numbers of stages
  OutputCount,      // or outputs
  StageKind,        // an input against a constant or a computed stage
  DataType,         // of values that stand for one another
  Rank,             // different numbers of spatial axes
  ReductionCount,   // or reduction axes
  Reduction,        // a reduction against an element-wise stage
  Combiner,         // reductions of different kinds
  FixedOrder,       // one reduction may be reordered, the other not
  Operation,        // the expressions differ
  Condition,        // one leaves out terms by a condition of another form
  AccessPattern,    // reads are indexed differently
  Conflict,         // a stage would stand for two
  Extent,           // equal but for an extent (where extents must be equal)
  RoleMissing,      // iterators of a role that the other has none of
  Layout,           // element-wise stages that walk memory in different orders
  TooManyReads,     // of a kind that is not told apart by structure
  TooSymmetric,     // too many ways to pair what looks the same
};
std::string_view name_of(MismatchCode code);

struct Mismatch {
  MismatchCode code{};
  int donor = -1, target = -1;  // stages, where it is about some
  int64_t a = 0, b = 0;         // numbers that the sentence mentions: the donor's, the target's
};

// "C of the donor is a reduction (max), P of the target is not".
std::string explain(const Mismatch& mismatch, const ComputeDag& donor, const ComputeDag& target);

}  // namespace espalier
