// Mutation: one way to change a candidate a little.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/search/sketch_space.h"

namespace espalier {

// What is changed. The structure is looked up beforehand: what a space knows of a sketch grows
// while it is searched, and a change must depend on its arguments alone.
struct Parent {
  Candidate candidate;
  StructurePtr structure;  // null: the sketch did not come from the space
};

// Safe for use by several threads; what a call returns depends on its arguments alone.
class Mutation {
 public:
  virtual ~Mutation() = default;
  virtual std::string_view name() const = 0;
  // A legal candidate unlike the parent. Nothing: this parent cannot be changed this way, or what
  // was tried is not legal.
  virtual std::optional<Candidate> apply(const SketchSpace& space, const Parent& parent,
                                         Rng& rng) const = 0;
};

using Mutations = std::vector<std::shared_ptr<const Mutation>>;

// The mutations of search/mutations, one a file.
//
// A slot moves one or two places in its domain.
std::shared_ptr<const Mutation> make_slot_step_mutation();
// A slot takes any other value of its domain.
std::shared_ptr<const Mutation> make_slot_draw_mutation();
// Two numbers of one split: a divisor moves from one level to another (Ansor, section 5.1).
std::shared_ptr<const Mutation> make_tile_exchange_mutation();
// A decision between variants of a sketch, of those whose name the filter wants, is taken
// differently; later decisions and numbers are carried over by name.
using DecisionFilter = bool (*)(std::string_view what);
std::shared_ptr<const Mutation> make_decision_mutation(std::string name, DecisionFilter wanted);
std::shared_ptr<const Mutation> make_structure_mutation();  // all but those between rules
std::shared_ptr<const Mutation> make_rule_mutation();       // which rule schedules a stage
// All numbers are drawn anew, near where the sketch starts.
std::shared_ptr<const Mutation> make_restart_mutation();
Mutations default_mutations();

}  // namespace espalier
