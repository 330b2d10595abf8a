// The default policy: look around, then descend.
#include <algorithm>

#include "espalier/search/policies/descent.h"
#include "espalier/search/policies/neighbours.h"

namespace espalier {
namespace {

constexpr int kLookFirst = 6, kLookAtAll = 48;

class AutoPolicy final : public SearchPolicy {
 public:
  std::string_view name() const override { return "auto"; }

  std::vector<Proposal> propose(const SearchContext& context, int n) override {
    std::vector<Proposal> proposals;
    std::unordered_set<uint64_t> taken;
    // First, and then with every fourth candidate for a while, it looks around: in turn the default
    // with one structural decision changed, and a draw, ever further away from what the rules
    // prefer. How many trials there will be does not matter, so that a longer run continues a
    // shorter one.
    int around = 0;
    for (int i = 0; i < n; ++i, ++proposed_) {
      const int looked = looked_ + around;
      if (looked < kLookFirst || (looked < kLookAtAll && proposed_ % 4 == 0)) ++around;
    }
    if (!listed_) {
      const Candidate start = context.space.preferred()->candidate();
      const std::vector<Candidate> near = structure_neighbours(context.space, start);
      variants_.assign(near.begin(), near.end());
      start_hash_ = start.hash();
      listed_ = true;
    }
    for (; around > 0; --around) {
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
  int proposed_ = 0, looked_ = 0;
  int since_draw_ = 0;
};

}  // namespace

std::unique_ptr<SearchPolicy> make_auto_policy() { return std::make_unique<AutoPolicy>(); }

}  // namespace espalier
