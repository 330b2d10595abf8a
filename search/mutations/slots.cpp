// Mutations of one number.
#include <algorithm>

#include "espalier/search/mutation.h"
#include "espalier/search/slots.h"

namespace espalier {
namespace {

// A slot with a choice, and where in its domain it stands.
struct Place {
  size_t slot = 0;
  std::vector<int64_t> domain;
  size_t at = 0;
};

std::optional<Place> draw_place(const Task& task, const Candidate& parent, Rng& rng) {
  const auto domains = slot_domains(task, parent);
  if (!domains) return std::nullopt;
  std::vector<size_t> open;
  for (size_t i = 0; i < domains->size(); ++i) {
    if ((*domains)[i].size() > 1) open.push_back(i);
  }
  if (open.empty()) return std::nullopt;
  const size_t slot = rng.pick(open);
  const std::vector<int64_t>& domain = (*domains)[slot];
  const auto present = std::lower_bound(domain.begin(), domain.end(), parent.decisions[slot]);
  return Place{slot, domain, static_cast<size_t>(present - domain.begin())};
}

std::optional<Candidate> moved_to(const Task& task, const Candidate& parent, const Place& place,
                                  size_t at) {
  Candidate child = parent;
  child.decisions[place.slot] = static_cast<int32_t>(place.domain[at]);
  if (!is_legal(task, child)) return std::nullopt;
  return child;
}

class SlotStepMutation final : public Mutation {
 public:
  std::string_view name() const override { return "slot step"; }
  std::optional<Candidate> apply(const SketchSpace& space, const Parent& parent,
                                 Rng& rng) const override {
    const auto place = draw_place(space.task(), parent.candidate, rng);
    if (!place) return std::nullopt;
    const size_t far = rng.chance(0.75) ? 1 : 2;
    bool up = rng.chance(0.5);
    // At an end of the domain there is one way only.
    if (place->at < far) up = true;
    if (up && place->at + far >= place->domain.size()) {
      if (place->at < far) return std::nullopt;
      up = false;
    }
    return moved_to(space.task(), parent.candidate, *place, up ? place->at + far : place->at - far);
  }
};

class SlotDrawMutation final : public Mutation {
 public:
  std::string_view name() const override { return "slot draw"; }
  std::optional<Candidate> apply(const SketchSpace& space, const Parent& parent,
                                 Rng& rng) const override {
    const auto place = draw_place(space.task(), parent.candidate, rng);
    if (!place) return std::nullopt;
    size_t at = rng.below(place->domain.size() - 1);
    if (at >= place->at) ++at;
    return moved_to(space.task(), parent.candidate, *place, at);
  }
};

class RestartMutation final : public Mutation {
 public:
  std::string_view name() const override { return "restart"; }
  std::optional<Candidate> apply(const SketchSpace& space, const Parent& parent,
                                 Rng& rng) const override {
    const StructurePtr& structure = parent.structure;
    if (!structure) return std::nullopt;
    std::optional<Candidate> child = draw_numbers(space.task(), *structure, rng, rng.uniform());
    if (!child || child->decisions == parent.candidate.decisions) return std::nullopt;
    return child;
  }
};

}  // namespace

std::shared_ptr<const Mutation> make_slot_step_mutation() {
  return std::make_shared<SlotStepMutation>();
}
std::shared_ptr<const Mutation> make_slot_draw_mutation() {
  return std::make_shared<SlotDrawMutation>();
}
std::shared_ptr<const Mutation> make_restart_mutation() {
  return std::make_shared<RestartMutation>();
}

}  // namespace espalier
