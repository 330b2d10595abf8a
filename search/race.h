// Race: compares the leaders of a search, and spends repeats where they decide.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "espalier/runtime/measure.h"

namespace espalier {

struct RaceResult {
  size_t winner = 0;
  // By candidate and round, microseconds; those that dropped out have fewer rounds.
  std::vector<std::vector<double>> times;
};

// Times the candidates round by round in one interleaved run, drops those that are clearly slower
// than the leader after the first rounds, and times the others again, `rounds` in all. Ratios are
// taken within a round, so that a machine whose speed drifts does not favour anyone. `initial`
// stays in the race and wins unless somebody is faster in most rounds.
Result<RaceResult> race(Measurer& measurer, std::span<const Candidate> candidates,
                        std::optional<size_t> initial, int rounds);

}  // namespace espalier
