// Breeder: makes children of candidates by mutation and crossover.
#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "espalier/search/mutation.h"
#include "espalier/search/policy.h"

namespace espalier {

// A candidate among others of a search.
struct Individual {
  Parent genes;
  uint64_t hash = 0;
  float score = 0;  // by some model: higher is faster
  Provenance provenance = Provenance::Sampled;
  uint64_t parent = 0;     // hash of the candidate it was derived from, 0: none
  float parent_score = 0;  // when it was derived
  int operation = kNoOperation;

  static constexpr int kNoOperation = -1;
  Proposal proposal() const { return {genes.candidate, provenance, parent}; }
};

Individual individual_of(const SketchSpace& space, Candidate candidate, Provenance provenance);

// Best first; equal scores in the order of hashes.
void sort_by_score(std::vector<Individual>* all);

// Which operation is used follows from how often its children were better than their parents
// (adaptive pursuit with a floor, so that none dies out).
class Breeder {
 public:
  // Of the built-in mutations and `more`; with `crossover` the crossing of two parents is one more
  // operation.
  Breeder(const Mutations& more, bool crossover);

  // Children of `parents` (best first; the first ones have more), legal ones, not proposed before,
  // without repeats and without those in `seen`, which grows by them. Attempt i draws from
  // streams.fork(i), so that the number of threads changes nothing. Fewer children than attempts:
  // some failed.
  std::vector<Individual> breed(const SearchContext& context, std::span<const Individual> parents,
                                int attempts, const Rng& streams,
                                std::unordered_set<uint64_t>* seen) const;

  // A child of this operation turned out better than its parent, or not.
  void credit(int operation, bool better, double weight);

  // How likely each operation is, crossover last; they add up to 1.
  std::vector<double> shares() const;

 private:
  struct Credit {
    double better = 0, tried = 0;
  };
  int draw_operation(const std::vector<double>& shares, Rng& rng) const;

  Mutations mutations_;
  std::vector<Credit> credits_;
};

}  // namespace espalier
