#include "espalier/search/policies/draft_verify.h"

#include <algorithm>
#include <map>

#include "espalier/search/policies/neighbours.h"
#include "espalier/search/policies/policies.h"

namespace espalier {
namespace {

constexpr size_t kParents = 24;   // the fastest measured ones
constexpr int kDraws = 24;        // fresh random candidates a round
constexpr size_t kDrafted = 96;   // kept by the draft
constexpr size_t kOutside = 32;   // of the rest, which the verifier sees as well
constexpr size_t kNear = 64;      // neighbours of the fastest
constexpr size_t kLeftOver = 96;  // carried from round to round
constexpr EvolutionSettings kDraftEvolution{.population = 192, .generations = 2, .children = 160};
constexpr EvolutionSettings kVerifyEvolution{.population = 48, .generations = 3, .children = 48};

void drop_proposed(const History& history, std::vector<Individual>* all) {
  std::erase_if(*all, [&](const Individual& i) { return history.proposed(i.hash); });
}

}  // namespace

DraftVerify::DraftVerify(const DraftVerifySettings& settings, const PolicyParts& parts)
    : settings_(settings),
      draft_(parts.draft),
      learner_(settings.verifier ? parts.verifier : nullptr, 8, 0.125),
      breeder_(parts.mutations, settings.crossover) {}

// The fastest measured ones, what is left of earlier rounds, and fresh draws.
std::vector<Individual> DraftVerify::gather(const SearchContext& context) {
  std::vector<Individual> pool;
  for (const Observation* o : fastest(context.history, kParents)) {
    pool.push_back(individual_of(context.space, o->proposal.candidate, o->proposal.provenance));
  }
  if (pool.empty()) {
    pool.push_back(
        individual_of(context.space, context.space.preferred()->candidate(), Provenance::Default));
  }
  for (Individual& i : left_over_) {
    if (!context.history.proposed(i.hash)) pool.push_back(std::move(i));
  }
  left_over_.clear();
  std::unordered_set<uint64_t> taken;
  for (const Individual& i : pool) taken.insert(i.hash);
  const auto bias = [](uint64_t i) {
    constexpr Sampler::Bias kBiases[] = {{0.7, 0.7}, {0.5, 0.3}, {0.9, 0.5}, {0.0, 0.0}};
    return kBiases[i % std::size(kBiases)];
  };
  for (Proposal& p : founders_.draw(context, kDraws, bias, &taken)) {
    pool.push_back(individual_of(context.space, std::move(p.candidate), p.provenance));
  }
  return pool;
}

// One number of the fastest moved by a place, or one decision taken differently: what descent would
// try, which the verifier should see whatever the draft thinks of it.
void DraftVerify::add_neighbours(const SearchContext& context, std::unordered_set<uint64_t>* seen,
                                 std::vector<Individual>* pool) {
  const Observation* best = context.history.best();
  const Candidate centre =
      best != nullptr ? best->proposal.candidate : context.space.preferred()->candidate();
  std::vector<Candidate> near = slot_neighbours(context.task(), centre, 1);
  for (Candidate& c : structure_neighbours(context.space, centre)) near.push_back(std::move(c));
  const uint64_t parent = centre.hash();
  size_t added = 0;
  for (Candidate& c : near) {
    const uint64_t hash = c.hash();
    if (context.history.proposed(hash) || !seen->insert(hash).second) continue;
    pool->push_back(individual_of(context.space, std::move(c), Provenance::Descended));
    pool->back().parent = parent;
    if (++added == kNear) return;
  }
}

void DraftVerify::plan_round(const SearchContext& context) {
  const Rng rng = context.rng.fork(5).fork(++rounds_);
  std::vector<Individual> pool = gather(context);
  const std::vector<Individual> parents(
      pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(std::min(kParents, pool.size())));
  std::unordered_set<uint64_t> seen;
  for (const Individual& i : pool) seen.insert(i.hash);

  std::vector<Individual> outside;
  if (settings_.draft) {
    pool =
        evolve(context, *draft_, &breeder_, std::move(pool), kDraftEvolution, rng.fork(1), &seen);
    drop_proposed(context.history, &pool);
    if (pool.size() > kDrafted) {
      outside.assign(std::make_move_iterator(pool.begin() + kDrafted),
                     std::make_move_iterator(pool.end()));
      pool.resize(kDrafted);
    }
    Rng draw = rng.fork(2);
    draw.shuffle(outside);
    for (Individual& i : pool) {
      if (i.provenance == Provenance::Sampled) i.provenance = Provenance::Drafted;
    }
  } else {
    std::vector<Individual> children =
        breeder_.breed(context, pool, kDraftEvolution.children, rng.fork(1), &seen);
    std::move(children.begin(), children.end(), std::back_inserter(pool));
    drop_proposed(context.history, &pool);
  }

  CostModel* judge = learner_.model() != nullptr ? learner_.model() : draft_.get();
  add_neighbours(context, &seen, &pool);
  const size_t shown = std::min(kOutside, outside.size());
  pool.insert(pool.end(), outside.begin(), outside.begin() + static_cast<std::ptrdiff_t>(shown));
  std::unordered_set<uint64_t> measured;
  for (const Individual& i : parents) {
    if (context.history.proposed(i.hash)) measured.insert(i.hash);
  }
  // The measured ones are parents here too, and say what the scores are to be compared with.
  pool.insert(pool.end(), parents.begin(), parents.end());
  std::vector<Individual> ranked =
      evolve(context, *judge, &breeder_, std::move(pool), kVerifyEvolution, rng.fork(3), &seen);
  float known = -std::numeric_limits<float>::infinity();
  for (const Individual& i : ranked) {
    if (measured.count(i.hash) != 0) known = std::max(known, i.score);
  }
  drop_proposed(context.history, &ranked);
  expected_gain_.reset();
  if (learner_.known() > 0 && !ranked.empty()) expected_gain_ = ranked.front().score - known;
  pick(context, std::move(ranked), std::move(outside), rng.fork(4));
}

// The first of the ranked ones, not too many of one sketch, and the audit's share of the others.
void DraftVerify::pick(const SearchContext& context, std::vector<Individual> ranked,
                       std::vector<Individual> outside, Rng rng) {
  const auto round = static_cast<size_t>(settings_.round);
  std::unordered_set<uint64_t> taken;
  for (const Individual& i : picked_) taken.insert(i.hash);
  audit_due_ += settings_.audit * settings_.round;
  std::vector<Individual> audited;
  rng.shuffle(outside);
  for (Individual& i : outside) {
    if (audit_due_ < 1) break;
    if (context.history.proposed(i.hash) || !taken.insert(i.hash).second) continue;
    audited.push_back(std::move(i));
    audit_due_ -= 1;
  }
  std::map<const Sketch*, size_t> of_sketch;
  const size_t most = std::max<size_t>(2, (round + 1) / 2);
  std::vector<Individual> rest;
  size_t left = round - std::min(round, audited.size());
  for (Individual& i : ranked) {
    if (left > 0 && of_sketch[i.genes.candidate.sketch.get()] < most &&
        taken.insert(i.hash).second) {
      ++of_sketch[i.genes.candidate.sketch.get()];
      picked_.push_back(std::move(i));
      --left;
    } else if (rest.size() < kLeftOver) {
      rest.push_back(std::move(i));
    }
  }
  for (Individual& i : rest) {
    if (left > 0 && taken.insert(i.hash).second) {
      picked_.push_back(i);
      --left;
    }
  }
  std::move(audited.begin(), audited.end(), std::back_inserter(picked_));
  left_over_ = std::move(rest);
}

std::vector<Proposal> DraftVerify::propose(const SearchContext& context, int n) {
  std::vector<Proposal> proposals;
  std::unordered_set<uint64_t> taken;
  const auto wanted = static_cast<size_t>(std::max(n, 0));
  while (proposals.size() < wanted) {
    if (picked_.empty()) plan_round(context);
    const size_t before = proposals.size();
    while (!picked_.empty() && proposals.size() < wanted) {
      const Individual next = std::move(picked_.front());
      picked_.pop_front();
      if (context.history.proposed(next.hash) || !taken.insert(next.hash).second) continue;
      proposals.push_back(next.proposal());
    }
    if (proposals.size() == before) break;
  }
  if (proposals.size() < wanted) {
    const auto uniform = [](uint64_t) { return Sampler::Bias{}; };
    const int missing = static_cast<int>(wanted - proposals.size());
    for (Proposal& p : rest_.draw(context, missing, uniform, &taken)) {
      proposals.push_back(std::move(p));
    }
  }
  return proposals;
}

void DraftVerify::observe(const SearchContext& context, std::span<const Observation> batch) {
  learner_.observe(context, batch);
}

Result<std::unique_ptr<SearchPolicy>> make_draft_verify_policy(const PolicySpec& spec,
                                                               const PolicyParts& parts) {
  DraftVerifySettings settings;
  ESP_TRY_VOID(SettingReader(spec)
                   .flag("draft", &settings.draft)
                   .flag("verifier", &settings.verifier)
                   .flag("crossover", &settings.crossover)
                   .number("audit", 0, 1, &settings.audit)
                   .integer("round", 1, 4096, &settings.round)
                   .finish());
  if (!settings.draft && !settings.verifier) {
    return make_error(ErrorCode::InvalidArgument,
                      "policy 'draft_verify' needs its draft or its verifier");
  }
  return std::unique_ptr<SearchPolicy>(std::make_unique<DraftVerify>(settings, parts));
}

}  // namespace espalier
