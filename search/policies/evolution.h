// Evolution: generations of candidates under selection by a cost model.
#pragma once

#include "espalier/cost_model/cost_model.h"
#include "espalier/search/policies/breeder.h"

namespace espalier {

// Scores of a model; what is known to be slower than the model's worst guess is not told apart.
void score_all(const Task& task, CostModel& model, std::span<Individual> all);

struct EvolutionSettings {
  int population = 256;  // survivors of a generation
  int generations = 3;
  int children = 256;  // attempted in each
};

// Scores `start`, then lets each generation's survivors have children. All that was scored, best
// first, with those of `start`; children with a hash in `seen` are left out, and `seen` grows by
// the others. The breeder gets its credits by the model's word.
std::vector<Individual> evolve(const SearchContext& context, CostModel& model, Breeder* breeder,
                               std::vector<Individual> start, const EvolutionSettings& settings,
                               const Rng& streams, std::unordered_set<uint64_t>* seen);

}  // namespace espalier
