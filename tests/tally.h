// What a fuzz run did: nothing that was drawn is dropped without being counted.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "espalier/schedule/rejection.h"
#include "step_kind.h"

namespace espalier {

inline constexpr int kRejectionCodes = static_cast<int>(RejectionCode::Overflow) + 1;

// Plain memory, so that it can be shared between processes.
struct Tally {
  int64_t cases = 0;     // drawn
  int64_t compared = 0;  // went through all evaluations
  int64_t undrawn = 0;   // sketches or numbers that gave no schedule
  int64_t refused = 0;   // lowering said that the code would be too large
  int64_t failed = 0;
  // Of a step kind: applied and kept; applied, but taken back since the case would have been too
  // much work or code; rejected, by code.
  std::array<int64_t, kStepKinds> applied{}, undone{};
  std::array<std::array<int64_t, kRejectionCodes>, kStepKinds> rejected{};
  // Steps of schedules that went through all evaluations, by the tails of the nest they are about.
  std::array<std::array<int64_t, kTailKinds>, kStepKinds> ran{};

  void add(const Tally& other);
  // Counts the steps of a schedule that was compared.
  void count_run(const State& state);
};

// Tables: step kind by outcome, step kind by tail kind.
std::string to_string(const Tally& tally);

}  // namespace espalier
