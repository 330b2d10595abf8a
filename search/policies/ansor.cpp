// Ansor (Zheng et al., OSDI 2020) as published, in our space and with our measurer: the baseline
// that other policies are compared with. Population, generations, probabilities and the choice of
// what is measured are those of its release; there is no crossover and no draft.
#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <unordered_map>

#include "espalier/search/policies/evolution.h"
#include "espalier/search/policies/learner.h"
#include "espalier/search/policies/policies.h"
#include "espalier/search/policies/sampler.h"
#include "espalier/support/parallel.h"

namespace espalier {
namespace {

struct AnsorSettings {
  int population = 2048;
  int generations = 4;
  int round = 64;          // measured between two fits
  double random = 0.05;    // share of those: 3 of 64, from the initial population
  double mutation = 0.85;  // else a child is a copy
  double measured = 0.2;   // of the population: the best that were measured
  int warm_up = 100;       // results until which predictions are random
};

constexpr int kAttempts = 8;  // at one child, each with another parent

bool is_unrolling(std::string_view what) {
  return what.find("unroll") != what.npos || what.find("straight") != what.npos;
}
bool is_parallel(std::string_view what) {
  return what.find("parallel") != what.npos || what.find("share") != what.npos;
}
// Where stages are computed.
bool is_location(std::string_view what) {
  return what.starts_with("inline ") || what.find("inside") != what.npos ||
         what.find("outside") != what.npos;
}

struct Weighted {
  std::shared_ptr<const Mutation> mutation;
  double probability;
};

class Ansor final : public SearchPolicy {
 public:
  Ansor(const AnsorSettings& settings, const PolicyParts& parts)
      : settings_(settings),
        learner_(parts.verifier, static_cast<size_t>(settings.round), 0),
        mutations_{{make_tile_exchange_mutation(), 0.90},
                   {make_decision_mutation("location", is_location), 0.05},
                   {make_decision_mutation("unrolling", is_unrolling), 0.04},
                   {make_decision_mutation("parallel", is_parallel), 0.01}} {}

  std::string_view name() const override { return "ansor"; }

  std::vector<Proposal> propose(const SearchContext& context, int n) override {
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
    const auto uniform = [](uint64_t) { return Sampler::Bias{}; };
    const int missing = n - static_cast<int>(proposals.size());
    for (Proposal& p : rest_.draw(context, missing, uniform, &taken)) {
      proposals.push_back(std::move(p));
    }
    return proposals;
  }

  void observe(const SearchContext& context, std::span<const Observation> batch) override {
    learner_.observe(context, batch);
  }

 private:
  void plan_round(const SearchContext& context);
  void score(const SearchContext& context, std::vector<Individual>* population, Rng rng);
  std::vector<Individual> next_generation(const SearchContext& context,
                                          const std::vector<Individual>& population,
                                          const Rng& streams) const;

  AnsorSettings settings_;
  Learner learner_;
  std::vector<Weighted> mutations_;
  Sampler founders_{7}, rest_{10};
  uint64_t rounds_ = 0;
  std::deque<Individual> picked_;
  std::unordered_map<uint64_t, float> known_scores_;  // of this round
};

void Ansor::score(const SearchContext& context, std::vector<Individual>* population, Rng rng) {
  if (static_cast<int>(learner_.known()) <= settings_.warm_up) {
    for (Individual& i : *population) i.score = static_cast<float>(rng.uniform());
    return;
  }
  std::vector<Individual> fresh;
  for (const Individual& i : *population) {
    if (known_scores_.try_emplace(i.hash, 0.0F).second) fresh.push_back(i);
  }
  score_all(context.task(), *learner_.model(), fresh);
  for (const Individual& i : fresh) known_scores_[i.hash] = i.score;
  for (Individual& i : *population) i.score = known_scores_[i.hash];
}

// Parents by roulette on predicted throughput, and one mutation each.
std::vector<Individual> Ansor::next_generation(const SearchContext& context,
                                               const std::vector<Individual>& population,
                                               const Rng& streams) const {
  float best = -std::numeric_limits<float>::infinity();
  for (const Individual& i : population) best = std::max(best, i.score);
  std::vector<double> sums;
  double sum = 0;
  for (const Individual& i : population) {
    // Scores are logarithms.
    const double share = std::isfinite(best) ? std::exp(static_cast<double>(i.score - best)) : 1;
    sums.push_back(sum += share);
  }
  auto draw_parent = [&](Rng& rng) -> const Individual& {
    const auto at = std::upper_bound(sums.begin(), sums.end(), rng.uniform() * sum);
    return population[std::min(static_cast<size_t>(at - sums.begin()), population.size() - 1)];
  };
  std::vector<Individual> children(static_cast<size_t>(settings_.population));
  parallel_for(context.threads, children.size(), [&](size_t i) {
    Rng rng = streams.fork(i);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const Individual& parent = draw_parent(rng);
      children[i] = parent;
      if (!rng.chance(settings_.mutation)) return;
      double u = rng.uniform();
      size_t kind = 0;
      while (kind + 1 < mutations_.size() && u >= mutations_[kind].probability) {
        u -= mutations_[kind++].probability;
      }
      auto child = mutations_[kind].mutation->apply(context.space, parent.genes, rng);
      if (!child) continue;
      children[i] = {};
      children[i].hash = child->hash();
      children[i].genes.candidate = std::move(*child);
      children[i].provenance = Provenance::Mutated;
      children[i].parent = parent.hash;
      return;
    }
  });
  for (Individual& child : children) {
    if (!child.genes.structure) {
      child.genes.structure = context.space.find(*child.genes.candidate.sketch);
    }
  }
  return children;
}

void Ansor::plan_round(const SearchContext& context) {
  const Rng rng = context.rng.fork(8).fork(++rounds_);
  known_scores_.clear();
  std::unordered_set<uint64_t> taken;
  std::vector<Individual> population;
  const auto uniform = [](uint64_t) { return Sampler::Bias{}; };
  for (Proposal& p : founders_.draw(context, settings_.population, uniform, &taken)) {
    population.push_back(individual_of(context.space, std::move(p.candidate), p.provenance));
  }
  const std::vector<Individual> initial = population;
  const auto measured = static_cast<size_t>(settings_.measured * settings_.population);
  for (const Observation* o : fastest(context.history, measured)) {
    population.push_back(
        individual_of(context.space, o->proposal.candidate, o->proposal.provenance));
  }
  if (population.empty()) return;

  // The best of all generations, measured ones left out.
  std::vector<Individual> best;
  std::unordered_set<uint64_t> kept;
  for (int g = 0;; ++g) {
    const Rng streams = rng.fork(static_cast<uint64_t>(g));
    score(context, &population, streams.fork(1));
    for (const Individual& i : population) {
      if (!context.history.proposed(i.hash) && kept.insert(i.hash).second) best.push_back(i);
    }
    sort_by_score(&best);
    const auto heap = static_cast<size_t>(2 * settings_.round);
    for (size_t i = heap; i < best.size(); ++i) kept.erase(best[i].hash);
    best.resize(std::min(best.size(), heap));
    if (g == settings_.generations) break;
    population = next_generation(context, population, streams.fork(2));
  }

  const int random = static_cast<int>(settings_.random * settings_.round);
  const auto good = static_cast<size_t>(settings_.round - random);
  picked_.assign(best.begin(),
                 best.begin() + static_cast<std::ptrdiff_t>(std::min(good, best.size())));
  Rng draw = rng.fork(1000);
  for (int i = 0; i < random && !initial.empty(); ++i) {
    picked_.push_back(initial[draw.below(initial.size())]);
  }
  for (size_t i = good; i < best.size() && picked_.size() < static_cast<size_t>(settings_.round);
       ++i) {
    picked_.push_back(best[i]);
  }
}

}  // namespace

Result<std::unique_ptr<SearchPolicy>> make_ansor_policy(const PolicySpec& spec,
                                                        const PolicyParts& parts) {
  AnsorSettings settings;
  ESP_TRY_VOID(SettingReader(spec)
                   .integer("population", 1, 1 << 20, &settings.population)
                   .integer("generations", 0, 1000, &settings.generations)
                   .integer("round", 1, 4096, &settings.round)
                   .number("random", 0, 1, &settings.random)
                   .finish());
  return std::unique_ptr<SearchPolicy>(std::make_unique<Ansor>(settings, parts));
}

}  // namespace espalier
