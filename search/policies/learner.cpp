#include "espalier/search/policies/learner.h"

#include <algorithm>

namespace espalier {

void Learner::observe(const SearchContext& context, std::span<const Observation> batch) {
  if (model_ == nullptr) return;
  for (const Observation& o : batch) {
    waiting_.push_back(
        {&context.task(), o.proposal.candidate, o.result.ok() ? o.result.time_us : 0});
  }
  const double enough =
      std::max(static_cast<double>(portion_), share_ * static_cast<double>(known_));
  if (static_cast<double>(waiting_.size()) < enough) return;
  model_->update(waiting_);
  known_ += waiting_.size();
  waiting_.clear();
}

std::vector<const Observation*> fastest(const History& history, size_t count) {
  std::vector<const Observation*> all;
  for (const Observation& o : history.observations()) {
    if (o.result.ok()) all.push_back(&o);
  }
  const size_t kept = std::min(count, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                    [](const Observation* a, const Observation* b) {
                      return std::pair(a->result.time_us, a->hash) <
                             std::pair(b->result.time_us, b->hash);
                    });
  all.resize(kept);
  return all;
}

}  // namespace espalier
