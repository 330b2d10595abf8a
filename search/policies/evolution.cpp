#include "espalier/search/policies/evolution.h"

#include <algorithm>

namespace espalier {

void score_all(const Task& task, CostModel& model, std::span<Individual> all) {
  std::vector<Candidate> candidates;
  candidates.reserve(all.size());
  for (const Individual& i : all) candidates.push_back(i.genes.candidate);
  std::vector<float> scores(all.size());
  model.score(task, candidates, scores);
  for (size_t i = 0; i < all.size(); ++i) all[i].score = scores[i];
}

std::vector<Individual> evolve(const SearchContext& context, CostModel& model, Breeder* breeder,
                               std::vector<Individual> start, const EvolutionSettings& settings,
                               const Rng& streams, std::unordered_set<uint64_t>* seen) {
  score_all(context.task(), model, start);
  std::vector<Individual> all = std::move(start);
  sort_by_score(&all);
  for (int g = 0; g < settings.generations; ++g) {
    const size_t survivors = std::min(all.size(), static_cast<size_t>(settings.population));
    std::vector<Individual> children =
        breeder->breed(context, std::span(all).first(survivors), settings.children,
                       streams.fork(static_cast<uint64_t>(g)), seen);
    score_all(context.task(), model, children);
    for (const Individual& child : children) {
      breeder->credit(child.operation, child.score > child.parent_score, 1);
    }
    std::move(children.begin(), children.end(), std::back_inserter(all));
    sort_by_score(&all);
  }
  return all;
}

}  // namespace espalier
