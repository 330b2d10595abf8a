#include "espalier/search/policies/sampler.h"

#include "espalier/search/slots.h"
#include "espalier/support/parallel.h"

namespace espalier {
namespace {

constexpr size_t kChunk = 64;  // attempts made at once, whatever the number of threads
constexpr int kDryChunks = 8;  // in a row without anything new: the space may be used up

}  // namespace

std::vector<Proposal> Sampler::draw(const SearchContext& context, int n,
                                    const std::function<Bias(uint64_t)>& bias,
                                    std::unordered_set<uint64_t>* taken) {
  std::vector<Proposal> proposals;
  auto take = [&](Candidate candidate, Provenance provenance) {
    const uint64_t hash = candidate.hash();
    if (context.history.proposed(hash) || !taken->insert(hash).second) return false;
    proposals.push_back({std::move(candidate), provenance, 0});
    return true;
  };
  auto full = [&] { return static_cast<int>(proposals.size()) >= n; };

  for (int dry = 0; !full() && dry < kDryChunks && space_ != Space::Small;) {
    if (drawn_.empty()) {
      // Streams are numbered through the whole run, so that a later call goes on where this ends.
      std::vector<std::optional<Candidate>> chunk(kChunk);
      const uint64_t first = attempts_;
      const Rng streams = context.rng.fork(stream_);
      parallel_for(context.threads, kChunk, [&](size_t i) {
        Rng rng = streams.fork(first + i);
        const Bias b = bias(first + i);
        if (const StructurePtr s = context.space.draw(rng, b.structure)) {
          chunk[i] = draw_numbers(context.task(), *s, rng, b.numbers);
        }
      });
      attempts_ += kChunk;
      for (std::optional<Candidate>& c : chunk) {
        if (c) drawn_.push_back(std::move(*c));
      }
    }
    bool fresh = false;
    while (!drawn_.empty() && !full()) {
      fresh = take(std::move(drawn_.front()), Provenance::Sampled) || fresh;
      drawn_.pop_front();
    }
    dry = fresh ? 0 : dry + 1;
  }
  if (full()) return proposals;

  if (space_ == Space::Unknown) {
    const auto all = enumerate_space(context.space, kCountableSpace);
    space_ = all ? Space::Small : Space::Large;
    if (all) rest_.assign(all->begin(), all->end());
  }
  while (!rest_.empty() && !full()) {
    take(std::move(rest_.front()), Provenance::Enumerated);
    rest_.pop_front();
  }
  return proposals;
}

}  // namespace espalier
