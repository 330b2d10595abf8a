// All evaluations of one case against each other.
#pragma once

#include "fuzz_case.h"

namespace espalier {

// What was being done when something went wrong.
enum class Activity : uint8_t {
  Draw,
  Replay,
  Texts,
  Lower,
  Evaluate,
  Lowered,
  Passes,
  MachineCode
};
std::string_view name_of(Activity a);

struct Verdict {
  enum class Kind : uint8_t { Passed, Refused, Failed } kind = Kind::Passed;
  Activity activity{};  // failed: during this
  std::string text;     // refused, failed: why
  bool failed() const { return kind == Kind::Failed; }
};

// How far to go.
enum class Depth : uint8_t { Replay, Lowered, Passes, MachineCode };

// The evaluator on the definition, the interpreter on the freshly lowered code and again after the
// passes, and machine code: equal bit for bit between the last two (NaNs count as equal); equal to
// the evaluator exactly for integers, bools and cases that say so, within ir/error_bound.h
// otherwise. Machine code runs between guard pages, in parallel and then serially. Also that DAG
// and trace read back from their texts, and that the schedule is the same with its numbers in
// decision slots. Refused: lowering says that the code would be too large. `progress` follows what
// is being done.
Verdict compare_evaluations(const FuzzCase& c, Depth depth = Depth::MachineCode,
                            Activity* progress = nullptr);

}  // namespace espalier
