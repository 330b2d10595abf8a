// Kinds of steps and kinds of tails, for counting.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "espalier/schedule/state.h"

namespace espalier {

// A step's place among the alternatives of Step, annotations apart: 14 steps, then 7 annotations.
inline constexpr int kStepKinds =
    static_cast<int>(std::variant_size_v<Step>) - 1 + static_cast<int>(std::size(kAnnotations));
int kind_of(const Step& step);
std::string_view step_kind_name(int kind);
// By type, for drawing: kind_of(SplitStep{}).

// What of the nest that a step is about does not divide.
enum class TailKind : uint8_t {
  None,    // all of it divides
  Split,   // some split's factors do not divide the extent
  Where,   // some reduction leaves out terms
  Vector,  // lanes come from a split that does not divide, or are not whole vectors
};
inline constexpr int kTailKinds = 4;
inline constexpr std::string_view kTailNames[] = {"none", "split", "where", "vector"};

// The stages that share a nest with the stage, or with one that a step has split off from it; of an
// inlined stage, those around some reader.
std::vector<StageId> stages_around(const State& state, StageId stage);
// What of their loops does not divide: a set of TailKind as bits.
uint8_t tails_of(const State& state, const std::vector<StageId>& stages);
inline bool has(uint8_t tails, TailKind t) { return (tails >> static_cast<int>(t)) & 1; }

}  // namespace espalier
