#include "espalier/search/policies/neighbours.h"

#include <algorithm>

#include "espalier/search/slots.h"

namespace espalier {
namespace {

using Domains = std::vector<std::vector<int64_t>>;

// The value so many places further in the slot's domain; nothing beyond its ends.
std::optional<int32_t> moved(const Domains& domains, const Candidate& centre, size_t slot,
                             int places) {
  const std::vector<int64_t>& values = domains[slot];
  const auto present = std::lower_bound(values.begin(), values.end(), centre.decisions[slot]);
  const auto at = present - values.begin() + places;
  if (at < 0 || at >= static_cast<std::ptrdiff_t>(values.size())) return std::nullopt;
  return static_cast<int32_t>(values[static_cast<size_t>(at)]);
}

}  // namespace

std::vector<Candidate> slot_neighbours(const Task& task, const Candidate& centre, int radius) {
  std::vector<Candidate> found;
  const std::optional<Domains> domains = slot_domains(task, centre);
  if (!domains) return found;
  for (int distance = 1; distance <= radius; ++distance) {
    for (size_t slot = 0; slot < domains->size(); ++slot) {
      for (int places : {distance, -distance}) {
        const std::optional<int32_t> value = moved(*domains, centre, slot, places);
        if (!value) continue;
        Candidate next = centre;
        next.decisions[slot] = *value;
        if (is_legal(task, next)) found.push_back(std::move(next));
      }
    }
  }
  return found;
}

std::vector<Candidate> slot_pair_neighbours(const Task& task, const Candidate& centre) {
  std::vector<Candidate> found;
  const std::optional<Domains> domains = slot_domains(task, centre);
  if (!domains) return found;
  for (size_t a = 0; a < domains->size(); ++a) {
    for (size_t b = a + 1; b < domains->size(); ++b) {
      for (int first : {1, -1}) {
        for (int second : {1, -1}) {
          const std::optional<int32_t> x = moved(*domains, centre, a, first);
          const std::optional<int32_t> y = moved(*domains, centre, b, second);
          if (!x || !y) continue;
          Candidate next = centre;
          next.decisions[a] = *x;
          next.decisions[b] = *y;
          if (is_legal(task, next)) found.push_back(std::move(next));
        }
      }
    }
  }
  return found;
}

std::vector<Candidate> structure_neighbours(const SketchSpace& space, const Candidate& centre) {
  std::vector<Candidate> found;
  const StructurePtr here = space.find(*centre.sketch);
  if (!here) return found;
  for (size_t i = 0; i < here->choices.size(); ++i) {
    std::vector<int> script = script_of(here->choices);
    script.resize(i + 1);
    for (int option = 0; option < here->choices[i].options; ++option) {
      if (option == here->choices[i].taken) continue;
      script.back() = option;
      const StructurePtr there = space.along(script, std::span(here->choices).subspan(i + 1));
      if (!there || there->sketch == here->sketch) continue;
      std::optional<Candidate> next =
          carry_numbers(space.task(), *there, here->slot_names, centre.decisions);
      found.push_back(next ? std::move(*next) : there->candidate());
    }
  }
  return found;
}

}  // namespace espalier
