// Draft, then verify (Qiao et al., "Pruner", ASPLOS 2025), for a CPU.
//
// A round: the fastest measured candidates, random ones and what earlier rounds left over evolve
// under the draft model, thousands of evaluations in all; the best of them, a few from outside the
// draft and the neighbours of the fastest are scored by the verifier, evolve under it for one
// generation, and its first choices are measured. A share of the picks is drawn from outside the
// draft: they audit it, and keep the verifier's data free of its bias.
#pragma once

#include <deque>

#include "espalier/search/policies/evolution.h"
#include "espalier/search/policies/learner.h"
#include "espalier/search/policies/sampler.h"

namespace espalier {

struct DraftVerifySettings {
  bool draft = true;      // else the verifier sees all that is proposed
  bool verifier = true;   // else the draft's first choices are measured
  bool crossover = true;  // besides mutation
  double audit = 0.125;   // share of the picks from outside the draft
  int round = 8;          // picks between two looks at what was measured
};

class DraftVerify final : public SearchPolicy {
 public:
  DraftVerify(const DraftVerifySettings& settings, const PolicyParts& parts);

  std::string_view name() const override { return "draft_verify"; }
  std::vector<Proposal> propose(const SearchContext& context, int n) override;
  void observe(const SearchContext& context, std::span<const Observation> batch) override;

  // How much faster than the fastest measured one the verifier thinks the best pick of the last
  // round is: log of the ratio; nothing before it has learnt.
  std::optional<double> expected_gain() const { return expected_gain_; }

 private:
  void plan_round(const SearchContext& context);
  std::vector<Individual> gather(const SearchContext& context);
  void add_neighbours(const SearchContext& context, std::unordered_set<uint64_t>* seen,
                      std::vector<Individual>* pool);
  void pick(const SearchContext& context, std::vector<Individual> ranked,
            std::vector<Individual> outside, Rng rng);

  DraftVerifySettings settings_;
  std::shared_ptr<CostModel> draft_;
  Learner learner_;
  Breeder breeder_;
  Sampler founders_{4}, rest_{9};
  uint64_t rounds_ = 0;
  double audit_due_ = 0;
  std::vector<Individual> left_over_;  // the best that were not picked
  std::deque<Individual> picked_;
  std::optional<double> expected_gain_;
};

}  // namespace espalier
