// The default policy: look around, then descend.
#include <algorithm>

#include "espalier/search/policies/descent.h"
#include "espalier/search/policies/neighbours.h"

namespace espalier {
namespace {

class AutoPolicy final : public SearchPolicy {
 public:
  std::string_view name() const override { return "auto"; }

  std::vector<Proposal> propose(const SearchContext& context, int n) override {
    std::vector<Proposal> proposals;
    std::unordered_set<uint64_t> taken;
    // A fifth of the run looks around: every other candidate is the default with one structural
    // decision changed, the others are drawn, ever further away from what the rules prefer.
    const int around = context.trials > 0 ? std::clamp(context.trials / 5, 6, 48) : 32;
    if (!listed_) {
      const Candidate start = context.space.preferred()->candidate();
      const std::vector<Candidate> near = structure_neighbours(context.space, start);
      variants_.assign(near.begin(), near.end());
      start_hash_ = start.hash();
      listed_ = true;
    }
    while (looked_ < around && static_cast<int>(proposals.size()) < n) {
      ++looked_;
      if (looked_ % 2 == 1 && take_variant(context, &taken, &proposals)) continue;
      append(draw(context, 1, &taken), &proposals);
    }
    const int left = n - static_cast<int>(proposals.size());
    if (left <= 0) return proposals;
    // One in eight keeps looking elsewhere.
    since_draw_ += left;
    const int elsewhere = std::min(left, since_draw_ / 8);
    since_draw_ -= 8 * elsewhere;
    for (Proposal& p : descent_.propose(context, left - elsewhere)) {
      if (taken.insert(p.candidate.hash()).second) proposals.push_back(std::move(p));
    }
    // A descent that waits for results proposes less: a smaller batch then says more than chance.
    const int more = proposals.empty() ? n : elsewhere;
    append(draw(context, more, &taken), &proposals);
    return proposals;
  }

  void observe(const SearchContext& context, std::span<const Observation> batch) override {
    descent_.observe(context, batch);
  }

 private:
  bool take_variant(const SearchContext& context, std::unordered_set<uint64_t>* taken,
                    std::vector<Proposal>* proposals) {
    while (!variants_.empty()) {
      Candidate next = std::move(variants_.front());
      variants_.pop_front();
      const uint64_t hash = next.hash();
      if (context.history.proposed(hash) || !taken->insert(hash).second) continue;
      proposals->push_back({std::move(next), Provenance::Mutated, start_hash_});
      return true;
    }
    return false;
  }

  std::vector<Proposal> draw(const SearchContext& context, int n,
                             std::unordered_set<uint64_t>* taken) {
    return sampler_.draw(
        context, n,
        [](uint64_t i) {
          constexpr Sampler::Bias kBiases[] = {{0.7, 0.7}, {0.5, 0.5}, {0.9, 0.3}, {0.2, 0.2}};
          return kBiases[i % std::size(kBiases)];
        },
        taken);
  }

  static void append(std::vector<Proposal> more, std::vector<Proposal>* proposals) {
    for (Proposal& p : more) proposals->push_back(std::move(p));
  }

  Sampler sampler_{3};
  Descent descent_;
  bool listed_ = false;
  uint64_t start_hash_ = 0;
  std::deque<Candidate> variants_;
  int looked_ = 0;
  int since_draw_ = 0;
};

}  // namespace

std::unique_ptr<SearchPolicy> make_auto_policy() { return std::make_unique<AutoPolicy>(); }

}  // namespace espalier
