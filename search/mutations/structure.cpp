// Mutations of one decision between variants of a sketch.
#include "espalier/search/mutation.h"
#include "espalier/search/slots.h"

namespace espalier {
namespace {

bool decides_rule(std::string_view what) { return what.starts_with("rule of "); }

class DecisionMutation final : public Mutation {
 public:
  DecisionMutation(std::string name, DecisionFilter wanted)
      : name_(std::move(name)), wanted_(wanted) {}
  std::string_view name() const override { return name_; }

  std::optional<Candidate> apply(const SketchSpace& space, const Parent& parent,
                                 Rng& rng) const override {
    const StructurePtr& here = parent.structure;
    if (!here) return std::nullopt;
    std::vector<size_t> open;
    for (size_t i = 0; i < here->choices.size(); ++i) {
      const StructureChoice& c = here->choices[i];
      if (c.options > 1 && wanted_(c.what)) open.push_back(i);
    }
    if (open.empty()) return std::nullopt;
    const size_t at = rng.pick(open);
    std::vector<int> script = script_of(here->choices);
    script.resize(at + 1);
    int option = static_cast<int>(rng.below(static_cast<uint64_t>(here->choices[at].options - 1)));
    if (option >= script.back()) ++option;
    script.back() = option;
    const StructurePtr there = space.along(script, std::span(here->choices).subspan(at + 1));
    if (!there || there->sketch == here->sketch) return std::nullopt;
    std::optional<Candidate> child =
        carry_numbers(space.task(), *there, here->slot_names, parent.candidate.decisions);
    if (child) return child;
    return there->candidate();
  }

 private:
  std::string name_;
  DecisionFilter wanted_;
};

}  // namespace

std::shared_ptr<const Mutation> make_decision_mutation(std::string name, DecisionFilter wanted) {
  return std::make_shared<DecisionMutation>(std::move(name), wanted);
}
std::shared_ptr<const Mutation> make_structure_mutation() {
  return make_decision_mutation("structure",
                                [](std::string_view what) { return !decides_rule(what); });
}
std::shared_ptr<const Mutation> make_rule_mutation() {
  return make_decision_mutation("rule", decides_rule);
}

}  // namespace espalier
