#include "espalier/search/crossover.h"

#include <algorithm>

#include "espalier/search/slots.h"

namespace espalier {
namespace {

const int32_t* number_named(const std::string& name, const Structure& structure,
                            const Candidate& candidate) {
  const auto& names = structure.slot_names;
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? nullptr
                           : &candidate.decisions[static_cast<size_t>(at - names.begin())];
}

// Decisions of `a`, each with probability 1/2 as `b` has it.
std::vector<StructureChoice> mixed(const Structure& a, const Structure& b, Rng& rng) {
  std::vector<StructureChoice> choices = a.choices;
  for (StructureChoice& mine : choices) {
    for (const StructureChoice& other : b.choices) {
      if (other.what != mine.what || other.options != mine.options) continue;
      if (rng.chance(0.5)) mine.taken = other.taken;
      break;
    }
  }
  return choices;
}

}  // namespace

std::optional<Candidate> cross(const SketchSpace& space, const Parent& a, const Parent& b,
                               Rng& rng) {
  const StructurePtr &first = a.structure, &second = b.structure;
  if (!first || !second) return std::nullopt;
  StructurePtr structure = first;
  if (first->sketch != second->sketch && rng.chance(0.5)) {
    const std::vector<StructureChoice> hints = mixed(*first, *second, rng);
    structure = space.along({}, hints);
    if (!structure) return std::nullopt;
  }
  Candidate child = structure->candidate();
  for (size_t i = 0; i < child.decisions.size(); ++i) {
    const int32_t* of_a = number_named(structure->slot_names[i], *first, a.candidate);
    const int32_t* of_b = number_named(structure->slot_names[i], *second, b.candidate);
    if (of_a != nullptr && of_b != nullptr && rng.chance(0.5)) of_a = nullptr;
    if (of_a != nullptr) child.decisions[i] = *of_a;
    if (of_a == nullptr && of_b != nullptr) child.decisions[i] = *of_b;
  }
  const auto equals = [&](const Parent& parent) {
    return child.sketch == parent.candidate.sketch && child.decisions == parent.candidate.decisions;
  };
  if (equals(a) || equals(b) || !is_legal(space.task(), child)) return std::nullopt;
  return child;
}

}  // namespace espalier
