// Coordinate descent over slots and structural decisions, in batches.
#pragma once

#include <deque>
#include <optional>
#include <unordered_set>
#include <vector>

#include "espalier/search/policies/sampler.h"

namespace espalier {

class Descent final : public SearchPolicy {
 public:
  std::string_view name() const override { return "descent"; }
  std::vector<Proposal> propose(const SearchContext& context, int n) override;
  void observe(const SearchContext& context, std::span<const Observation> batch) override;

  // Everything near the fastest was tried.
  bool at_bottom() const { return centre_ && wave_ >= kWaves && queue_.empty(); }

 private:
  static constexpr int kWaves = 4;

  void move_to(Candidate centre, double time_us);
  void choose_centre(const SearchContext& context);
  void next_wave(const SearchContext& context);
  bool restart(const SearchContext& context);

  std::optional<Candidate> centre_;
  uint64_t centre_hash_ = 0;
  double centre_us_ = 0;  // 0: not known
  int wave_ = 0;          // of neighbours around the centre, nearest first
  std::deque<Candidate> queue_;
  std::unordered_set<uint64_t> used_sketches_;  // that were a centre
  uint64_t shuffles_ = 0;
  Sampler sampler_{1};
};

}  // namespace espalier
