// Retarget: a schedule of one program rewritten for another along a map.
//
// The donor's steps are followed one by one. Each is rewritten to the loops that stand for its own
// and applied to the target at once, so that what is left is a schedule that applies. A step whose
// loops have no counterpart is dropped, one that does not apply is mended where there is a usual
// way, and both are reported. Numbers become slots with values that fit the target
// (transfer/refit.h), so that a search can go on from there.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "espalier/schedule/state.h"
#include "espalier/transfer/dag_map.h"
#include "espalier/transfer/refit.h"

namespace espalier {

enum class StepFate : uint8_t { Kept, Mended, Dropped, Added };
std::string_view name_of(StepFate fate);

enum class FateReason : uint8_t {
  None,
  NoStage,         // the stage has no counterpart
  NoLoop,          // the loop has none
  NoRead,          // the read has none
  AlreadyOneLoop,  // a fuse of what is one loop in the target
  AlreadyInlined,
  LoopsPlaced,     // loops that the donor does not have were put in their places
  InnerOfGroup,    // of several loops that stand for the donor's one, the innermost is meant
  FusedFirst,      // they were fused into one
  FurtherOut,      // attached at the next loop outwards that allows it
  AsAccumulator,   // the stage that it ran inside of is missing: its accumulators instead
  PackedEachCall,  // what was a constant is none
  PackedOnce,      // what was packed in each call is a constant
  SplitFirst,      // too long to be lanes in one piece
  OneThread,       // nothing to share
  Threads,         // shared between threads, which the donor did not have
  FusedWider,      // fused with further loops, so that all threads work
  TooLong,         // too many iterations for straight code
  TooMuchCode,
  Rejected,    // does not apply; see `rejection`
  NotInDonor,  // a stage of the target alone, scheduled by rule
};

struct StepReport {
  int donor_step = -1;  // -1: added
  StepFate fate = StepFate::Kept;
  FateReason reason = FateReason::None;
  int first = 0, count = 0;  // the target's steps that came of it
  Rejection rejection = {};  // Rejected
};

struct FactorReport {
  int donor_step = -1;
  int slot = -1;
  int64_t donor_extent = 1, target_extent = 1;
  RefitFactor factor;
};

struct RetargetOptions {
  bool refit = true;  // false: the donor's numbers as they are
  // Where one loop of the donor stands for several: fuse them, or let the innermost stand for it.
  bool fuse_groups = true;
  bool straight_reductions = true;  // false: reductions are not unrolled
  std::optional<TileSize> tile;     // in place of the one that refit chooses
};

struct Retargeted {
  Candidate candidate;  // replays
  std::vector<StepReport> steps;
  std::vector<FactorReport> factors;
};

// Why there is no schedule.
struct RetargetFailure {
  enum class Kind : uint8_t {
    DonorTrace,  // does not apply to the donor's own program
    CodeSize,    // too much code whatever was made smaller
    Rejected,    // the mended schedule does not replay
  } kind{};
  Rejection rejection = {};
};
std::string explain(const RetargetFailure& failure, const Task& donor, const Trace& trace);

class RetargetResult {
 public:
  RetargetResult(Retargeted r) : value_(std::move(r)) {}
  RetargetResult(RetargetFailure f) : value_(f) {}
  bool ok() const { return value_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const Retargeted& value() const { return *std::get_if<0>(&value_); }
  Retargeted take() { return std::move(*std::get_if<0>(&value_)); }
  const RetargetFailure& failure() const { return *std::get_if<1>(&value_); }

 private:
  std::variant<Retargeted, RetargetFailure> value_;
};

// `map` leads from the DAG of `donor` to that of `target`; `trace` has no slots. Tries again with
// less straight code or a smaller tile where the result would be too large. With the map of a
// program to itself, the same target and threads, the result is the donor's trace.
RetargetResult retarget(const DagMap& map, const Task& donor, const Trace& trace,
                        const Task& target, const RetargetOptions& options = {});

}  // namespace espalier
