// What must hold of match() for any program, on random ones.
#include <gtest/gtest.h>

#include "espalier/transfer/match.h"
#include "random_dag.h"
#include "remade_dag.h"

namespace espalier {
namespace {

constexpr uint64_t kSeed = 8101;
constexpr int kPrograms = 1000;
constexpr int64_t kWork = 20000;

// Calls `check` with programs, each with a generator of its own.
template <class Check>
void for_programs(const Check& check) {
  for (uint64_t i = 0; i < kPrograms; ++i) {
    Rng rng = Rng(kSeed).fork(i);
    const ComputeDag dag = random_dag(rng, rng.range(8, kWork)).dag;
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", program " + std::to_string(i) + "\n" +
                 to_string(dag));
    check(dag, rng);
    if (testing::Test::HasFailure()) return;
  }
}

bool computes(const ComputeDag& dag) { return anchor_of(dag) >= 0; }

TEST(MatchProperty, AProgramMatchesItsRenamedSelfExactly) {
  for_programs([](const ComputeDag& dag, Rng& rng) {
    const ComputeDag other = remade(dag, rng, {false, false});
    const Match m = match(dag, other);
    if (!computes(dag)) return;
    ASSERT_TRUE(m.ok()) << explain(m.reason(), dag, other);
    EXPECT_EQ(m.map().level, MatchLevel::Exact);
  });
}

TEST(MatchProperty, AProgramMatchesItsReorderedSelfExactly) {
  for_programs([](const ComputeDag& dag, Rng& rng) {
    const ComputeDag other = remade(dag, rng, {true, false});
    const Match m = match(dag, other);
    if (!computes(dag)) return;
    ASSERT_TRUE(m.ok()) << explain(m.reason(), dag, other) << "\n" << to_string(other);
    EXPECT_EQ(m.map().level, MatchLevel::Exact) << to_string(other);
  });
}

TEST(MatchProperty, AProgramMatchesItselfPaddedWithUnitDimensions) {
  for_programs([](const ComputeDag& dag, Rng& rng) {
    const ComputeDag other = remade(dag, rng, {true, true});
    const Match m = match(dag, other);
    if (!computes(dag)) return;
    ASSERT_TRUE(m.ok()) << explain(m.reason(), dag, other) << "\n" << to_string(other);
    EXPECT_LE(m.map().level, MatchLevel::Units) << to_string(other);
  });
}

TEST(MatchProperty, MapsInvertAndGoThereAndBack) {
  for_programs([](const ComputeDag& dag, Rng& rng) {
    const ComputeDag other = remade(dag, rng, {true, rng.chance(0.5)});
    const Match m = match(dag, other);
    if (!m) return;
    EXPECT_EQ(inverse(inverse(m.map())), m.map());
    const DagMap round = compose(m.map(), inverse(m.map()));
    for (const StageMap& s : round.stages) {
      EXPECT_EQ(s.donor, s.target);
      for (const AxisGroup& g : s.axes) {
        // Axes without a counterpart have none.
        if (!g.donor.empty() && !g.target.empty()) {
          EXPECT_EQ(g.donor, g.target);
        }
      }
      for (const auto& [donor, target] : s.reads) EXPECT_EQ(donor, target);
    }
  });
}

TEST(MatchProperty, MapsOfThreeComposeInAnyOrder) {
  for_programs([](const ComputeDag& a, Rng& rng) {
    const ComputeDag b = remade(a, rng, {true, false}), c = remade(b, rng, {true, true});
    const Match ab = match(a, b), bc = match(b, c);
    if (!ab || !bc) return;
    const DagMap back = inverse(bc.map());
    EXPECT_EQ(compose(compose(ab.map(), bc.map()), back),
              compose(ab.map(), compose(bc.map(), back)));
  });
}

TEST(MatchProperty, WhatMatchesIsOfOneFamily) {
  for_programs([](const ComputeDag& a, Rng& rng) {
    const ComputeDag b = random_dag(rng, rng.range(8, kWork)).dag;
    if (match(a, b)) {
      EXPECT_EQ(family_of(a), family_of(b)) << to_string(b);
    }
  });
}

TEST(MatchProperty, MatchingIsMutual) {
  for_programs([](const ComputeDag& a, Rng& rng) {
    const ComputeDag b = random_dag(rng, rng.range(8, kWork)).dag;
    const Match there = match(a, b), back = match(b, a);
    ASSERT_EQ(there.ok(), back.ok()) << to_string(b);
    if (there) {
      EXPECT_EQ(there.map().level, back.map().level) << to_string(b);
    }
  });
}

}  // namespace
}  // namespace espalier
