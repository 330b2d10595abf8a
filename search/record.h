// TuningRecord: one measured candidate, as a line of JSON that explains itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "espalier/runtime/measure.h"

namespace espalier {

// Where a candidate came from.
enum class Provenance : uint8_t {
  Default,      // the deterministic schedule that every search starts with
  Sampled,      // drawn at random
  Enumerated,   // reached by counting through a small space
  Mutated,      // a measured candidate with something changed
  Crossed,      // parts of two measured candidates
  Descended,    // a step of coordinate descent
  Drafted,      // chosen by a model
  Transferred,  // carried over from another workload
};
std::string_view name_of(Provenance p);  // "default", "sampled", ...

// What a run of the tuner was, as far as answers may be taken from one run for another.
struct RunKey {
  std::string workload;   // the spec, or the text of the DAG
  uint64_t dag_hash = 0;  // shapes, types and bodies
  std::string target;     // text of the Target
  int threads = 1;
  std::string policy;
  uint64_t seed = 0;
  std::string compiler, llvm;  // versions
  bool flush_cache = false;
};

struct TuningRecord {
  RunKey run;
  std::string device;  // fingerprint of the machine that measured

  int trial = 0;  // number of the candidate in its run; 0 is the default schedule
  Provenance provenance = Provenance::Default;
  uint64_t parent = 0;             // candidate it was derived from (Candidate::hash), 0: none
  uint64_t candidate = 0;          // Candidate::hash
  std::string trace;               // text, numbers filled in, lines ending in '\n'
  std::vector<int32_t> decisions;  // those numbers that were the search's to choose, in slot order

  MeasureResult result;
  bool verified = false;  // the result was compared with the reference and was within its bound
  // The times are those of the comparison at the end of a run, round by round among the leaders,
  // and this candidate won it. Its trial has a record of its own.
  bool final = false;
};

// Whether `a` is the one to take of two usable records of a task: the winner of a final comparison
// before one that was timed by itself, then the faster.
bool is_preferred(const TuningRecord& a, const TuningRecord& b);

// The version of the lines written and the only one read.
inline constexpr int kRecordVersion = 1;

// One line of JSON without the line end. Equal records give equal lines.
std::string to_json_line(const TuningRecord& record);

// Errors: Parse for what is not JSON, not a record, or a record with a member missing or of the
// wrong kind; Unsupported for a record of another version, saying what to do.
Result<TuningRecord> parse_record(std::string_view line);

}  // namespace espalier
