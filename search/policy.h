// SearchPolicy: what to measure next. Ask and tell: the tuner asks for proposals, measures them and
// tells the policy. A policy does no I/O and knows no clock; all its randomness comes from the
// context, so that one seed gives the same proposals, whatever the number of search threads.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "espalier/search/record.h"
#include "espalier/search/sketch_space.h"

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
};

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

// Uniformly drawn structures and numbers. A space that runs dry is counted through.
std::unique_ptr<SearchPolicy> make_random_policy();
// Coordinate descent: neighbours of the best in one slot, then in one structural decision, then
// further away; restarts from elsewhere when nothing near is better.
std::unique_ptr<SearchPolicy> make_descent_policy();
// Variants of the default and a random sample, then descent.
std::unique_ptr<SearchPolicy> make_auto_policy();

// By the name that users give: "auto", "random", "descent". Errors list what there is.
Result<std::unique_ptr<SearchPolicy>> make_policy(std::string_view name);

}  // namespace espalier
