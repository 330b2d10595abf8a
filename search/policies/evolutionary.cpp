// Mutation and crossover under the verifier alone.
#include <algorithm>
#include <deque>

#include "espalier/search/policies/evolution.h"
#include "espalier/search/policies/learner.h"
#include "espalier/search/policies/policies.h"
#include "espalier/search/policies/sampler.h"

namespace espalier {
namespace {

struct EvolutionarySettings {
  bool crossover = true;
  int population = 192;
  int generations = 3;
  double random = 0.125;  // share of the measured ones that are random
};

class Evolutionary final : public SearchPolicy {
 public:
  Evolutionary(const EvolutionarySettings& settings, const PolicyParts& parts)
      : settings_(settings),
        learner_(parts.verifier, 8, 0.125),
        breeder_(parts.mutations, settings.crossover) {}

  std::string_view name() const override { return "evolutionary"; }

  std::vector<Proposal> propose(const SearchContext& context, int n) override {
    const Rng rng = context.rng.fork(6).fork(++rounds_);
    std::vector<Individual> start = founders(context);
    std::unordered_set<uint64_t> seen;
    for (const Individual& i : start) seen.insert(i.hash);
    const EvolutionSettings evolution{.population = settings_.population / 2,
                                      .generations = settings_.generations,
                                      .children = settings_.population};
    std::vector<Individual> ranked =
        evolve(context, *learner_.model(), &breeder_, std::move(start), evolution, rng, &seen);
    std::erase_if(ranked, [&](const Individual& i) { return context.history.proposed(i.hash); });

    random_due_ += settings_.random * n;
    const int random = std::min(n, static_cast<int>(random_due_));
    random_due_ -= random;
    std::vector<Proposal> proposals;
    std::unordered_set<uint64_t> taken;
    for (const Individual& i : ranked) {
      if (static_cast<int>(proposals.size()) >= n - random) break;
      proposals.push_back(i.proposal());
      taken.insert(i.hash);
    }
    const int missing = n - static_cast<int>(proposals.size());
    const auto uniform = [](uint64_t) { return Sampler::Bias{}; };
    for (Proposal& p : sampler_.draw(context, missing, uniform, &taken)) {
      proposals.push_back(std::move(p));
    }
    return proposals;
  }

  void observe(const SearchContext& context, std::span<const Observation> batch) override {
    learner_.observe(context, batch);
  }

 private:
  // Up to a quarter of the population are the fastest so far, the rest fresh draws.
  std::vector<Individual> founders(const SearchContext& context) {
    std::vector<Individual> all;
    const size_t measured = static_cast<size_t>(settings_.population) / 4;
    for (const Observation* o : fastest(context.history, measured)) {
      all.push_back(individual_of(context.space, o->proposal.candidate, o->proposal.provenance));
    }
    if (all.empty()) {
      all.push_back(individual_of(context.space, context.space.preferred()->candidate(),
                                  Provenance::Default));
    }
    std::unordered_set<uint64_t> taken;
    const auto bias = [](uint64_t i) {
      return Sampler::Bias{static_cast<double>(i % 4) / 4, static_cast<double>(i % 3) / 3};
    };
    const int fresh = settings_.population / 2 - static_cast<int>(all.size());
    for (Proposal& p : founders_.draw(context, std::max(fresh, 1), bias, &taken)) {
      all.push_back(individual_of(context.space, std::move(p.candidate), p.provenance));
    }
    return all;
  }

  EvolutionarySettings settings_;
  Learner learner_;
  Breeder breeder_;
  Sampler sampler_{5}, founders_{6};
  uint64_t rounds_ = 0;
  double random_due_ = 0;
};

}  // namespace

Result<std::unique_ptr<SearchPolicy>> make_evolutionary_policy(const PolicySpec& spec,
                                                               const PolicyParts& parts) {
  EvolutionarySettings settings;
  ESP_TRY_VOID(SettingReader(spec)
                   .flag("crossover", &settings.crossover)
                   .integer("population", 4, 1 << 20, &settings.population)
                   .integer("generations", 0, 1000, &settings.generations)
                   .number("random", 0, 1, &settings.random)
                   .finish());
  return std::unique_ptr<SearchPolicy>(std::make_unique<Evolutionary>(settings, parts));
}

}  // namespace espalier
