// SearchPolicy: what to measure next. Ask and tell: the tuner asks for proposals, measures them and
// tells the policy. A policy does no I/O and knows no clock; all its randomness comes from the
// context, so that one seed gives the same proposals, whatever the number of search threads.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "espalier/cost_model/cost_model.h"
#include "espalier/search/mutation.h"
#include "espalier/search/record.h"

namespace espalier {

struct Proposal {
  Candidate candidate;
  Provenance provenance = Provenance::Sampled;
  uint64_t parent = 0;  // hash of the candidate it was derived from, 0: none
};

// A proposal and what came of it.
struct Observation {
  Proposal proposal;
  uint64_t hash = 0;  // of the candidate
  MeasureResult result;
};

// A candidate from elsewhere to try early, such as one that was carried over from another task.
struct Seed {
  Candidate candidate;
  std::string origin;  // for people
  // The decisions that lead to its sketch in the task's own space, so that a search can vary them;
  // empty: its sketch is none of the space's, or it is not known to be.
  std::vector<int> script = {};
};
// Makes the sketches of the seeds known to the space.
void know_seeds(const SketchSpace& space, std::span<const Seed> seeds);

// What has happened so far, kept by the tuner.
class History {
 public:
  bool proposed(uint64_t hash) const { return proposed_.count(hash) != 0; }
  const std::vector<Observation>& observations() const { return observations_; }
  // The fastest that ran right; null: none.
  const Observation* best() const {
    return best_ < 0 ? nullptr : &observations_[static_cast<size_t>(best_)];
  }

  // False if it was proposed before.
  bool propose(uint64_t hash) { return proposed_.insert(hash).second; }
  void observe(Observation o);

 private:
  std::unordered_set<uint64_t> proposed_;
  std::vector<Observation> observations_;
  int best_ = -1;
};

struct SearchContext {
  const SketchSpace& space;
  Rng rng;  // of this request; fork it rather than draw from it in parallel
  const History& history;
  int threads = 1;  // to use for the search itself
  int trials = 0;   // that the whole run may measure; 0: no limit is known
  const Task& task() const { return space.task(); }
};

class SearchPolicy {
 public:
  virtual ~SearchPolicy() = default;
  virtual std::string_view name() const = 0;
  // Up to n candidates, legal and not proposed before, best first. Fewer: it can find no more at
  // the moment; none: it is at its end.
  virtual std::vector<Proposal> propose(const SearchContext& context, int n) = 0;
  // What came of proposals, in the order in which they were made; the default schedule is among
  // the first.
  virtual void observe(const SearchContext& context, std::span<const Observation> batch) = 0;
};

// What policies are put together from, in so far as they use it.
struct PolicyParts {
  std::shared_ptr<CostModel> draft;     // predicts without measurements
  std::shared_ptr<CostModel> verifier;  // is told of the run's measurements, and learns from them
  Mutations mutations;                  // besides the built-in ones
  std::string base;  // a saved model that the built-in verifier starts from; empty: from nothing
};

// A policy by its name, perhaps with settings: "draft_verify:crossover=0,audit=0.25". The parts
// must hold models where the policy uses them (complete_parts of search/parts.h sees to that).
// Errors list the names, or the settings of a policy.
//   random        uniformly drawn structures and numbers
//   descent       coordinate descent: neighbours of the best
//   evolutionary  mutation and crossover, guided by the verifier
//   ansor         the published settings of Ansor: a baseline
//   draft_verify  many sources propose, the draft chooses hundreds, the verifier tens
//   auto          what works best: draft_verify and descent, until nothing more is to be gained
Result<std::unique_ptr<SearchPolicy>> make_policy(std::string_view spec, const PolicyParts& parts);

// Whether there is such a policy, with such settings.
Result<void> check_policy(std::string_view spec);

}  // namespace espalier
