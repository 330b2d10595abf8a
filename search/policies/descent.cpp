#include "espalier/search/policies/descent.h"

#include <algorithm>

#include "espalier/search/policies/neighbours.h"
#include "espalier/search/policies/policies.h"
#include "espalier/search/slots.h"

namespace espalier {
namespace {

// Smaller gains are noise.
constexpr double kGain = 0.995;
// Neighbours in the farther waves: enough of them to learn a direction.
constexpr size_t kFarNeighbours = 24;

}  // namespace

void Descent::move_to(Candidate centre, double time_us) {
  centre_hash_ = centre.hash();
  used_sketches_.insert(centre.sketch->hash());
  centre_ = std::move(centre);
  centre_us_ = time_us;
  wave_ = 0;
  queue_.clear();
}

void Descent::choose_centre(const SearchContext& context) {
  const Observation* best = context.history.best();
  if (best == nullptr) {
    if (!centre_) move_to(context.space.preferred()->candidate(), 0);
    return;
  }
  if (!centre_ || centre_us_ == 0 || best->result.time_us < centre_us_ * kGain) {
    if (centre_ && best->hash == centre_hash_) {
      centre_us_ = best->result.time_us;
    } else {
      move_to(best->proposal.candidate, best->result.time_us);
    }
  }
}

void Descent::next_wave(const SearchContext& context) {
  std::vector<Candidate> wave;
  switch (wave_++) {
    case 0: wave = slot_neighbours(context.task(), *centre_, 1); break;
    case 1: wave = structure_neighbours(context.space, *centre_); break;
    case 2: wave = slot_pair_neighbours(context.task(), *centre_); break;
    case 3: wave = slot_neighbours(context.task(), *centre_, 4); break;
    default: break;
  }
  // Neighbours of one wave are equals: without a shuffle the first slots would always go first.
  Rng rng = context.rng.fork(2).fork(++shuffles_);
  rng.shuffle(wave);
  if (wave_ > 2 && wave.size() > kFarNeighbours) wave.resize(kFarNeighbours);
  queue_.assign(wave.begin(), wave.end());
}

// The best of another sketch that was no centre yet.
bool Descent::restart(const SearchContext& context) {
  const Observation* found = nullptr;
  for (const Observation& o : context.history.observations()) {
    if (!o.result.ok() || used_sketches_.count(o.proposal.candidate.sketch->hash()) != 0) continue;
    if (found == nullptr || o.result.time_us < found->result.time_us) found = &o;
  }
  if (found == nullptr) return false;
  move_to(found->proposal.candidate, found->result.time_us);
  return true;
}

std::vector<Proposal> Descent::propose(const SearchContext& context, int n) {
  choose_centre(context);
  std::vector<Proposal> proposals;
  std::unordered_set<uint64_t> taken;
  while (static_cast<int>(proposals.size()) < n) {
    if (queue_.empty()) {
      if (wave_ < kWaves) {
        next_wave(context);
        continue;
      }
      // What is on its way may still move the centre: wait for it rather than look elsewhere.
      if (!proposals.empty() || !restart(context)) break;
      continue;
    }
    Candidate next = std::move(queue_.front());
    queue_.pop_front();
    const uint64_t hash = next.hash();
    if (context.history.proposed(hash) || !taken.insert(hash).second) continue;
    proposals.push_back({std::move(next), Provenance::Descended, centre_hash_});
  }
  if (!proposals.empty()) return proposals;
  // Nothing near, and nowhere to restart from: draw.
  return sampler_.draw(
      context, n, [](uint64_t i) { return Sampler::Bias{i % 2 == 0 ? 0.5 : 0.0, 0.25}; }, &taken);
}

void Descent::observe(const SearchContext& context, std::span<const Observation> batch) {
  if (!centre_) return;
  std::vector<const Observation*> better;
  for (const Observation& o : batch) {
    const bool near = o.result.ok() && o.proposal.parent == centre_hash_ && centre_us_ > 0;
    if (near && o.result.time_us < centre_us_ * kGain) better.push_back(&o);
  }
  if (better.empty()) return;
  std::sort(better.begin(), better.end(), [](const Observation* a, const Observation* b) {
    return std::pair(a->result.time_us, a->hash) < std::pair(b->result.time_us, b->hash);
  });
  // What helped one by one may help together: the best with the others' changes on top.
  const Candidate before = *centre_;
  move_to(better[0]->proposal.candidate, better[0]->result.time_us);
  Candidate together = *centre_;
  for (size_t i = 1; i < better.size(); ++i) {
    const Candidate& other = better[i]->proposal.candidate;
    if (other.sketch != together.sketch || before.sketch != together.sketch) continue;
    Candidate next = together;
    for (size_t s = 0; s < next.decisions.size(); ++s) {
      if (other.decisions[s] != before.decisions[s] &&
          together.decisions[s] == before.decisions[s]) {
        next.decisions[s] = other.decisions[s];
      }
    }
    if (next.decisions == together.decisions || !is_legal(context.task(), next)) continue;
    together = std::move(next);
    queue_.push_back(together);
  }
}

Result<std::unique_ptr<SearchPolicy>> make_descent_policy(const PolicySpec& spec) {
  ESP_TRY_VOID(SettingReader(spec).finish());
  return std::unique_ptr<SearchPolicy>(std::make_unique<Descent>());
}

}  // namespace espalier
