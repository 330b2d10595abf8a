// CostModel: which candidates will probably be fast, before they are measured.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "espalier/schedule/candidate.h"
#include "espalier/support/hash.h"
#include "espalier/support/result.h"

namespace espalier {

// What came of measuring one candidate of `task`, which need only live as long as the call that it
// is handed to.
struct MeasuredRow {
  const Task* task = nullptr;
  Candidate candidate;
  double time_us = 0;  // microseconds a call; 0 or less, or not finite: it failed

  bool ok() const { return time_us > 0 && time_us < 1e30; }
};

// What tells tasks apart for a model: the program, the target and the threads it runs on.
inline uint64_t task_key(const Task& task) {
  uint64_t key = hash_combine(task.dag.hash(), hash_string(to_string(task.target)));
  return hash_combine(key, static_cast<uint64_t>(task.threads));
}

class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual std::string_view name() const = 0;

  // scores[i] for candidates[i]; as many scores as candidates. Higher is faster, estimating
  // log(best time / time) up to a constant of the task: scores of one task compare, those of
  // different tasks do not. Never NaN; -inf says that the candidate cannot work.
  virtual void score(const Task& task, std::span<const Candidate> candidates,
                     std::span<float> scores) = 0;

  // Learns from measurements, of one task or of several. Rows of former calls stay known; a
  // candidate that is measured again is another row.
  virtual void update(std::span<const MeasuredRow> rows) = 0;

  // All that the model has learnt, as one JSON text, and back. After load, scores are bit for bit
  // what they were. Errors of load: Parse for text that is no model, Unsupported for one of another
  // kind or version; the model is then as it was before.
  virtual std::string save() const = 0;
  virtual Result<void> load(std::string_view text) = 0;
};

// Independent uniform scores in [0, 1), a pure function of the seed, the task and the candidate:
// the floor that any model must be above. Learns nothing.
std::unique_ptr<CostModel> make_random_model(uint64_t seed);

// Scores a candidate by the time that was recorded for it (the least, if several were), as
// log(best of the task / time); -inf for failures and for candidates without a record. On a pool
// of measured candidates this is the oracle: the ceiling that no model can be above.
std::unique_ptr<CostModel> make_recorded_model();

}  // namespace espalier
