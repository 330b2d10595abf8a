#include "espalier/search/slots.h"

#include <algorithm>
#include <set>

#include "espalier/search/test_support.h"

namespace espalier {
namespace {

using testing::task_of;

TEST(Slots, DrawsAreLegalAndDoNotAvoidTails) {
  const SketchSpace space(task_of("matmul:m=127,n=509,k=251"));
  Rng rng(3);
  int legal = 0, tails = 0;
  for (int i = 0; i < 200; ++i) {
    const StructurePtr s = space.draw(rng);
    if (!s) continue;
    const std::optional<Candidate> c = draw_numbers(space.task(), *s, rng, 0);
    if (!c) continue;
    ++legal;
    const Replayed r = replay(space.task(), *c);
    ASSERT_TRUE(r.ok());
    EXPECT_LE(code_size(r.state()), kMaxCodeSize);
    tails += print_nest(r.state()).find("tail") != std::string::npos;
  }
  EXPECT_GE(legal, 60);
  EXPECT_GE(tails, legal / 3);
}

TEST(Slots, InnerFactorsAreDecidedFirst) {
  const Task task = task_of("elementwise:op=relu,shape=100");
  SketchBuilder b(task);
  b.split(1, 0, {b.slot("outer", SlotKind::Tile, 1), b.slot("inner", SlotKind::Vector, 16)});
  ASSERT_TRUE(b.ok());
  std::vector<int> asked;
  std::vector<int64_t> last;
  std::vector<int32_t> decisions;
  const Replayed r =
      decide_slots(task, b.sketch(), &decisions, [&](int slot, const std::vector<int64_t>& domain) {
        asked.push_back(slot);
        last = domain;
        return slot == 1 ? int64_t{32} : int64_t{2};
      });
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(asked, (std::vector<int>{1, 0}));
  EXPECT_EQ(decisions, (std::vector<int32_t>{2, 32}));
  // Four runs of 32 are left for the outer factor.
  EXPECT_EQ(last.back(), 4);
}

TEST(Slots, DomainsHoldThePresentValue) {
  const SketchSpace space(task_of("matmul:m=100,n=100,k=100"));
  Candidate c = space.preferred()->candidate();
  c.decisions[1] = 2;
  const auto domains = slot_domains(space.task(), c);
  ASSERT_TRUE(domains.has_value());
  for (size_t s = 0; s < domains->size(); ++s) {
    EXPECT_TRUE(std::is_sorted((*domains)[s].begin(), (*domains)[s].end()));
    EXPECT_TRUE(std::binary_search((*domains)[s].begin(), (*domains)[s].end(), c.decisions[s]));
  }
}

TEST(Slots, NumbersAreCarriedByName) {
  const SketchSpace space(task_of("matmul:m=256,n=256,k=256"));
  const StructurePtr from = space.preferred();
  Candidate tuned = from->candidate();
  const auto rows = std::find(from->slot_names.begin(), from->slot_names.end(), "rows of Y");
  ASSERT_NE(rows, from->slot_names.end());
  tuned.decisions[static_cast<size_t>(rows - from->slot_names.begin())] = 3;
  int carried = 0;
  for (const StructurePtr& to : space.list(500).structures) {
    const auto c = carry_numbers(space.task(), *to, from->slot_names, tuned.decisions);
    if (!c) continue;
    const auto at = std::find(to->slot_names.begin(), to->slot_names.end(), "rows of Y");
    if (at == to->slot_names.end()) continue;
    EXPECT_EQ(c->decisions[static_cast<size_t>(at - to->slot_names.begin())], 3);
    ++carried;
  }
  EXPECT_GE(carried, 4);
}

TEST(Slots, SmallSpacesAreCountedExactlyOnce) {
  const SketchSpace space(task_of("elementwise:op=relu,shape=7"));
  const auto all = enumerate_space(space, 1000);
  ASSERT_TRUE(all.has_value());
  std::set<uint64_t> hashes;
  for (const Candidate& c : *all) {
    hashes.insert(c.hash());
    EXPECT_TRUE(is_legal(space.task(), c));
  }
  EXPECT_EQ(hashes.size(), all->size());
  EXPECT_GE(all->size(), 2u);
  // Whatever is drawn was counted.
  Rng rng(1);
  for (int i = 0; i < 50; ++i) {
    const auto c = draw_numbers(space.task(), *space.draw(rng), rng, 0);
    ASSERT_TRUE(c.has_value());
    EXPECT_TRUE(hashes.count(c->hash()));
  }
}

TEST(Slots, LargeSpacesAreNotCounted) {
  EXPECT_FALSE(enumerate_space(SketchSpace(task_of("matmul:m=64,n=64,k=64")), 50).has_value());
}

}  // namespace
}  // namespace espalier
