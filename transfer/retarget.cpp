#include "espalier/transfer/retarget.h"

#include <algorithm>

#include "espalier/search/slots.h"
#include "espalier/support/check.h"
#include "espalier/transfer/retargeter.h"

namespace espalier {
namespace {

constexpr int kAttempts = 5;

// Makes the register tile smaller until the code is small enough. Structure stays.
bool shrink_numbers(const Task& target, double limit, Retargeted* r) {
  for (int round = 0; round < 6; ++round) {
    const Replayed replayed = replay(target, r->candidate);
    if (replayed.ok() && code_size(replayed.state()) <= limit) return true;
    int32_t* largest = nullptr;
    for (size_t i = 0; i < r->candidate.decisions.size(); ++i) {
      if (r->candidate.sketch->slots[i].kind != SlotKind::Register) continue;
      int32_t& value = r->candidate.decisions[i];
      if (value > 1 && (largest == nullptr || value > *largest)) largest = &value;
    }
    if (largest == nullptr) return false;
    *largest = (*largest + 1) / 2;
    const int slot = static_cast<int>(largest - r->candidate.decisions.data());
    for (FactorReport& f : r->factors) {
      if (f.slot != slot) continue;
      f.factor.target = *largest;
      f.factor.rule = RefitRule::RegisterTile;
    }
  }
  return false;
}

}  // namespace

std::string_view name_of(StepFate fate) {
  switch (fate) {
    case StepFate::Kept: return "kept";
    case StepFate::Mended: return "mended";
    case StepFate::Dropped: return "dropped";
    case StepFate::Added: return "added";
  }
  ESP_UNREACHABLE("step fate ", static_cast<int>(fate));
}

RetargetResult retarget(const DagMap& map, const Task& donor, const Trace& trace,
                        const Task& target, const RetargetOptions& options) {
  Replayed end = replay(donor, trace);
  if (!end.ok()) return RetargetFailure{RetargetFailure::Kind::DonorTrace, end.rejection()};
  // Code that was worth compiling for the donor is worth it here.
  const double limit = std::max(kMaxCodeSize, 1.1 * code_size(end.state()));
  RetargetOptions now = options;
  for (int i = 0; i < kAttempts; ++i) {
    Retargeter walk(map, donor, trace, target, now, end.state());
    walk.run();
    const bool last = i + 1 == kAttempts;
    // Values that do not fit into the registers: fewer rows, as far as there are some.
    const std::optional<TileSize> tile = walk.aimed_tile();
    if (walk.met_too_many_registers() && !last && options.refit && tile && tile->rows > 1) {
      now.tile = TileSize{(tile->rows + 1) / 2, tile->columns};
      continue;
    }
    if (code_size(walk.state()) <= limit) return walk.result();
    if (now.straight_reductions) {
      now.straight_reductions = false;
      continue;
    }
    Retargeted result = walk.result();
    if (options.refit && shrink_numbers(target, limit, &result)) return result;
    return RetargetFailure{RetargetFailure::Kind::CodeSize, {}};
  }
  return RetargetFailure{RetargetFailure::Kind::CodeSize, {}};
}

std::string explain(const RetargetFailure& failure, const Task& donor, const Trace& trace) {
  switch (failure.kind) {
    case RetargetFailure::Kind::DonorTrace:
      return "the donor's schedule does not apply to its own program: " +
             explain(failure.rejection, donor, trace);
    case RetargetFailure::Kind::CodeSize:
      return "the schedule would be too much code for the target's extents";
    case RetargetFailure::Kind::Rejected: return "the schedule does not replay";
  }
  ESP_UNREACHABLE();
}

}  // namespace espalier
