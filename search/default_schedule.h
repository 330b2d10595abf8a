// Schedules that need no search.
#pragma once

#include "espalier/schedule/candidate.h"

namespace espalier {

// The deterministic schedule that every search starts with: the preferred sketch of the built-in
// rules with the numbers that they start from. It replays for any DAG.
Candidate default_candidate(const Task& task);

// The untiled nests in definition order: an empty trace.
Candidate naive_candidate(const Task& task);

}  // namespace espalier
