// Sampler: draws candidates from a space, none of them twice.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <unordered_set>

#include "espalier/search/policy.h"

namespace espalier {

class Sampler {
 public:
  // How a candidate is drawn: the probability that a structural decision, or a number, is as the
  // rules would have it.
  struct Bias {
    double structure = 0;
    double numbers = 0;
  };

  // Two samplers of one run draw from different streams.
  explicit Sampler(uint64_t stream) : stream_(stream) {}

  // Up to n candidates that were not proposed before and are not among `taken`, which grows by
  // them. `bias` says how the i-th attempt ever made is drawn. What is drawn depends on the context
  // and on earlier calls, not on the number of threads. When draws bring nothing new the space is
  // counted through, if it is small; fewer than n candidates mean that there are no more, or that
  // hundreds of draws in a row failed.
  std::vector<Proposal> draw(const SearchContext& context, int n,
                             const std::function<Bias(uint64_t attempt)>& bias,
                             std::unordered_set<uint64_t>* taken);

 private:
  uint64_t stream_;
  uint64_t attempts_ = 0;
  std::deque<Candidate> drawn_;  // in order, not yet handed out
  enum class Space : uint8_t { Unknown, Small, Large } space_ = Space::Unknown;
  std::deque<Candidate> rest_;  // of a small space, once it was counted through
};

}  // namespace espalier
