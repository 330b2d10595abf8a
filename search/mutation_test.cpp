#include "espalier/search/mutation.h"

#include "espalier/search/crossover.h"
#include "espalier/search/slots.h"
#include "espalier/search/test_support.h"

namespace espalier {
namespace {

using testing::task_of;

constexpr const char* kConvolution = "conv2d:n=1,h=14,w=14,ci=16,co=32,k=3,p=1,epilogue=bias+relu";

std::vector<Parent> draw_parents(const SketchSpace& space, int count, uint64_t seed) {
  std::vector<Parent> parents;
  Rng rng(seed);
  while (static_cast<int>(parents.size()) < count) {
    const StructurePtr s = space.draw(rng, 0.5);
    if (!s) continue;
    if (auto c = draw_numbers(space.task(), *s, rng, 0.3)) parents.push_back({*c, s});
  }
  return parents;
}

class EveryMutation : public ::testing::TestWithParam<int> {
 protected:
  std::shared_ptr<const Mutation> mutation() const {
    return default_mutations()[static_cast<size_t>(GetParam())];
  }
};

TEST_P(EveryMutation, MakesLegalCandidatesUnlikeTheParent) {
  const SketchSpace space(task_of(kConvolution));
  int made = 0;
  for (const Parent& parent : draw_parents(space, 40, 5)) {
    Rng rng(7);
    const auto child = mutation()->apply(space, parent, rng);
    if (!child) continue;
    ++made;
    EXPECT_TRUE(is_legal(space.task(), *child));
    EXPECT_FALSE(child->sketch == parent.candidate.sketch &&
                 child->decisions == parent.candidate.decisions);
  }
  // Of rules there is often no choice.
  if (mutation()->name() != "rule") EXPECT_GT(made, 0);
}

TEST_P(EveryMutation, DependsOnItsArgumentsAlone) {
  const SketchSpace space(task_of(kConvolution));
  for (const Parent& parent : draw_parents(space, 20, 6)) {
    Rng one(9), two(9);
    const auto a = mutation()->apply(space, parent, one);
    draw_parents(space, 3, 77);  // the space knows more now
    const auto b = mutation()->apply(space, parent, two);
    ASSERT_EQ(a.has_value(), b.has_value());
    if (a) EXPECT_EQ(a->hash(), b->hash());
  }
}

TEST_P(EveryMutation, CopesWithWhatTheSpaceDoesNotKnow) {
  const SketchSpace space(task_of("softmax:rows=8,cols=40"));
  Rng rng(1);
  const auto child = mutation()->apply(space, {make_candidate({}), nullptr}, rng);
  if (child) EXPECT_TRUE(is_legal(space.task(), *child));
}

INSTANTIATE_TEST_SUITE_P(Search, EveryMutation, ::testing::Range(0, 6));

TEST(Mutation, AStepMovesOneNumber) {
  const SketchSpace space(task_of(kConvolution));
  for (const Parent& parent : draw_parents(space, 20, 8)) {
    Rng rng(3);
    const auto child = make_slot_step_mutation()->apply(space, parent, rng);
    if (!child) continue;
    int changed = 0;
    for (size_t i = 0; i < child->decisions.size(); ++i) {
      changed += child->decisions[i] != parent.candidate.decisions[i] ? 1 : 0;
    }
    EXPECT_EQ(changed, 1);
  }
}

TEST(Crossover, NumbersOfOneSketchComeFromEitherParent) {
  const SketchSpace space(task_of("matmul:m=480,n=480,k=480"));
  const StructurePtr s = space.preferred();
  Rng rng(4);
  int made = 0;
  for (int i = 0; i < 60; ++i) {
    const auto a = draw_numbers(space.task(), *s, rng, 0),
               b = draw_numbers(space.task(), *s, rng, 0);
    if (!a || !b) continue;
    const auto child = cross(space, {*a, s}, {*b, s}, rng);
    if (!child) continue;
    ++made;
    for (size_t k = 0; k < child->decisions.size(); ++k) {
      EXPECT_TRUE(child->decisions[k] == a->decisions[k] || child->decisions[k] == b->decisions[k]);
    }
  }
  EXPECT_GT(made, 0);
}

TEST(Crossover, RelatedSketchesHaveLegalChildrenWithDecisionsOfBoth) {
  const SketchSpace space(task_of(kConvolution));
  const std::vector<Parent> parents = draw_parents(space, 60, 11);
  Rng rng(2);
  int made = 0;
  for (size_t i = 0; i + 1 < parents.size(); ++i) {
    const auto child = cross(space, parents[i], parents[i + 1], rng);
    if (!child) continue;
    ++made;
    EXPECT_TRUE(is_legal(space.task(), *child));
    const StructurePtr made_by = space.find(*child->sketch);
    ASSERT_NE(made_by, nullptr);
  }
  EXPECT_GT(made, 10);
}

TEST(Crossover, StrangersHaveNoChildren) {
  const SketchSpace space(task_of("softmax:rows=8,cols=40"));
  Rng rng(1);
  const Parent known{space.preferred()->candidate(), space.preferred()};
  EXPECT_FALSE(cross(space, known, {make_candidate({}), nullptr}, rng).has_value());
}

}  // namespace
}  // namespace espalier
