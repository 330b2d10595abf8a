// What became of a schedule on its way to another program, for people.
#pragma once

#include <string>
#include <vector>

#include "espalier/transfer/transfer.h"

namespace espalier {

struct Explanation {
  struct StepLine {
    std::string donor;  // the donor's step; empty: added
    StepFate fate = StepFate::Kept;
    std::string reason;               // a phrase; empty where it is as it was
    std::vector<std::string> target;  // the steps that came of it
  };
  struct FactorLine {
    std::string what;    // "columns", "rows", ... or the split it belongs to
    std::string donor;   // "32 of 64"
    std::string target;  // "16 of 24"
    std::string rule;
  };
  std::string donor_title, target_title;  // workloads and machines
  std::string summary;                    // level, road, distance
  std::string map;                        // a line a pair of stages
  std::string donor_nest, target_nest;
  std::vector<StepLine> steps;  // where steps were rewritten
  std::string donor_trace, target_trace;
  std::vector<FactorLine> factors;
};

Explanation explain(const TransferSeed& seed, const Task& task, const Database& database);

// The phrase for a reason.
std::string_view describe(FateReason reason);

// Columns side by side, lists below each other.
std::string to_text(const Explanation& e);
// A page of its own: no scripts, nothing to load.
std::string to_html(const std::vector<Explanation>& all, std::string_view title);

}  // namespace espalier
