// Recall: how a recorded schedule was decided, and the same decisions taken for another program.
//
// A trace that came from the sketch rules is found again in the donor's own space. The target's
// rules then follow the same decisions, and the numbers are carried over by the names of their
// slots and refitted. Stages that only one of the programs has are so scheduled as the rules would.
#pragma once

#include <optional>
#include <vector>

#include "espalier/search/sketch_space.h"
#include "espalier/transfer/dag_map.h"
#include "espalier/transfer/retarget.h"

namespace espalier {

struct Recalled {
  StructurePtr structure;
  std::vector<int32_t> decisions;  // one a slot
};

// Nothing if the trace is none of the space's, or not found within a bounded number of sketches.
std::optional<Recalled> recall(const SketchSpace& space, const Trace& trace);

struct Followed {
  Candidate candidate;      // legal
  std::vector<int> script;  // the target's decisions
  std::vector<FactorReport> factors;
  int decisions_kept = 0, decisions = 0;  // structural ones that are the donor's, and all
};

// Nothing if the target's rules come to no legal schedule that way.
std::optional<Followed> follow(const Recalled& recalled, const Task& donor, const DagMap& map,
                               const SketchSpace& target);

}  // namespace espalier
