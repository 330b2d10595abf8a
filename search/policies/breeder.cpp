#include "espalier/search/policies/breeder.h"

#include <algorithm>

#include "espalier/search/crossover.h"
#include "espalier/support/parallel.h"

namespace espalier {
namespace {

// An operation whose children never are better keeps this part of an equal share.
constexpr double kFloor = 0.3;
// Of what is known, when more becomes known: what helps changes during a search.
constexpr double kRemembered = 400;

// The first parents have more children: half of them come from the first quarter.
size_t draw_parent(size_t count, Rng& rng) {
  const double u = rng.uniform();
  return std::min(count - 1, static_cast<size_t>(u * u * static_cast<double>(count)));
}

}  // namespace

Individual individual_of(const SketchSpace& space, Candidate candidate, Provenance provenance) {
  Individual made;
  made.hash = candidate.hash();
  made.genes.structure = space.find(*candidate.sketch);
  made.genes.candidate = std::move(candidate);
  made.provenance = provenance;
  return made;
}

void sort_by_score(std::vector<Individual>* all) {
  std::sort(all->begin(), all->end(), [](const Individual& a, const Individual& b) {
    return a.score != b.score ? a.score > b.score : a.hash < b.hash;
  });
}

Breeder::Breeder(const Mutations& more, bool crossover) : mutations_(default_mutations()) {
  mutations_.insert(mutations_.end(), more.begin(), more.end());
  credits_.resize(mutations_.size() + (crossover ? 1 : 0));
}

std::vector<double> Breeder::shares() const {
  std::vector<double> shares;
  double sum = 0;
  for (const Credit& c : credits_) {
    shares.push_back((c.better + 1) / (c.tried + 2));
    sum += shares.back();
  }
  const double equal = 1 / static_cast<double>(std::max<size_t>(credits_.size(), 1));
  for (double& share : shares) share = kFloor * equal + (1 - kFloor) * share / sum;
  return shares;
}

int Breeder::draw_operation(const std::vector<double>& shares, Rng& rng) const {
  double u = rng.uniform();
  for (size_t i = 0; i + 1 < shares.size(); ++i) {
    if (u < shares[i]) return static_cast<int>(i);
    u -= shares[i];
  }
  return static_cast<int>(shares.size()) - 1;
}

void Breeder::credit(int operation, bool better, double weight) {
  if (operation < 0) return;
  Credit& c = credits_[static_cast<size_t>(operation)];
  c.tried += weight;
  if (better) c.better += weight;
  if (c.tried > kRemembered) {
    c.better *= kRemembered / c.tried;
    c.tried = kRemembered;
  }
}

std::vector<Individual> Breeder::breed(const SearchContext& context,
                                       std::span<const Individual> parents, int attempts,
                                       const Rng& streams,
                                       std::unordered_set<uint64_t>* seen) const {
  if (parents.empty() || credits_.empty()) return {};
  const std::vector<double> shares = this->shares();
  std::vector<std::optional<Individual>> made(static_cast<size_t>(std::max(attempts, 0)));
  parallel_for(context.threads, made.size(), [&](size_t i) {
    Rng rng = streams.fork(i);
    const Individual& parent = parents[draw_parent(parents.size(), rng)];
    const int operation = draw_operation(shares, rng);
    const bool crosses = static_cast<size_t>(operation) == mutations_.size();
    std::optional<Candidate> child;
    if (!crosses) {
      child = mutations_[static_cast<size_t>(operation)]->apply(context.space, parent.genes, rng);
    } else {
      const Individual& other = parents[draw_parent(parents.size(), rng)];
      child = cross(context.space, parent.genes, other.genes, rng);
    }
    if (!child) return;
    made[i].emplace();
    made[i]->hash = child->hash();
    made[i]->genes.candidate = std::move(*child);
    made[i]->provenance = crosses ? Provenance::Crossed : Provenance::Mutated;
    made[i]->parent = parent.hash;
    made[i]->parent_score = parent.score;
    made[i]->operation = operation;
  });
  std::vector<Individual> children;
  for (std::optional<Individual>& child : made) {
    if (!child || context.history.proposed(child->hash)) continue;
    if (!seen->insert(child->hash).second) continue;
    // Looked up now that all of them are made: what the space knows no longer depends on threads.
    child->genes.structure = context.space.find(*child->genes.candidate.sketch);
    children.push_back(std::move(*child));
  }
  return children;
}

}  // namespace espalier
