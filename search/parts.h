// The models that policies are made with, unless the caller brings his own.
#pragma once

#include <functional>

#include "espalier/search/phases.h"
#include "espalier/search/policy.h"

namespace espalier {

// Where the time that models take is added up. Policies know no clock; the models that they are
// handed may.
struct PhaseClock {
  std::function<double()> now;  // seconds
  PhaseSeconds* phases = nullptr;
};

// Fills in what the named policy needs and `given` lacks: as draft the analyzer, for the data sheet
// of the task's target; as verifier boosted trees that know no more than the given base (for
// "ansor" with squared error over Ansor's features). With a clock, the time spent in the models,
// given ones too, is added to draft, features, score and fit. Errors: those of loading the base.
Result<PolicyParts> complete_parts(PolicyParts given, const Task& task, std::string_view policy,
                                   int threads, const PhaseClock& clock = {});

// Whether the named policy's verifier may start from a model that was trained before. Ansor's, the
// baseline, knows nothing but the task.
bool starts_from_base(std::string_view policy);

}  // namespace espalier
