// Look-up: the best known schedule for a task, and how well it fits.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/schedule/state.h"
#include "espalier/search/database.h"

namespace espalier {

enum class LookupLevel : uint8_t {
  Exact,        // measured for this DAG, target and number of threads
  Compatible,   // for this DAG on a target whose code runs here, or another number of threads
  Transferred,  // for another DAG
  Default,      // nothing fits: the schedule that every search starts with
};
std::string_view name_of(LookupLevel level);  // "exact", "compatible", "transferred", "default"

struct Lookup {
  LookupLevel level = LookupLevel::Default;
  State state;
  const TuningRecord* record = nullptr;  // points into the database; null for Default
  // What was adapted, and what was refused and why: for people, one a line.
  std::vector<std::string> notes;
};

// The fastest verified record of the best level whose trace replays, else the default schedule.
// Fails only if the default schedule, which is asked for if nothing else fits, does not replay.
Result<Lookup> look_up(const Database& database, const Task& task,
                       const std::function<Candidate(const Task&)>& default_schedule);

}  // namespace espalier
