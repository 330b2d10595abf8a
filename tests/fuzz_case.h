// One case of differential testing, and its text.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/ir/evaluate.h"
#include "espalier/schedule/state.h"

namespace espalier {

struct FuzzCase {
  Task task;
  Trace trace;
  uint64_t data_seed = 0;
  // Floats are small integers and only combined exactly: all evaluations must agree exactly.
  bool exact = false;
  bool specials = false;  // some NaNs and infinities among the inputs
};

// "data 7 exact specials", "threads 2", "target ...", then the DAG and the trace.
std::string to_string(const FuzzCase& c);
Result<FuzzCase> parse_case(std::string_view text);

// Inputs and then constants, as evaluate() takes them.
std::vector<Array> make_arguments(const FuzzCase& c);

// Makes the case with a number of the run with a seed, counting in the tally what it draws.
// `announce`, if any, gets the text of the case with each step before the step is applied.
struct Tally;
using CaseSource = std::function<FuzzCase(uint64_t seed, uint64_t number, Tally& tally,
                                          const std::function<void(const std::string&)>& announce)>;

// Random DAGs under random steps: each kind of step under each kind of tail in turn.
FuzzCase draw_random_steps(uint64_t seed, uint64_t number, Tally& tally,
                           const std::function<void(const std::string&)>& announce = {});
// Random DAGs under schedules that the sketch rules and the sampler make, or the default one.
FuzzCase draw_sketch(uint64_t seed, uint64_t number, Tally& tally,
                     const std::function<void(const std::string&)>& announce = {});

// Pairs of programs that stand for one another, and a schedule of one carried over to the other.
FuzzCase draw_transfer(uint64_t seed, uint64_t number, Tally& tally,
                       const std::function<void(const std::string&)>& announce = {});

}  // namespace espalier
