#include "espalier/transfer/recall.h"

#include "espalier/search/slots.h"
#include "espalier/transfer/test_support.h"

namespace espalier {
namespace {

constexpr const char* kConv3x3 = "conv2d:n=1,h=28,w=28,ci=64,co=96,k=3,p=1,epilogue=bias+relu";

TEST(Recall, FindsTheDecisionsOfTheDefault) {
  const Task task = task_of(kConv3x3, 2);
  const SketchSpace space(task);
  const auto found = recall(space, default_candidate(task).trace());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->structure->sketch, space.preferred()->sketch);
  EXPECT_EQ(found->decisions, space.preferred()->start);
}

TEST(Recall, FindsMostOfWhatIsDrawn) {
  int found = 0, drawn = 0;
  for (const char* spec :
       {kConv3x3, "matmul:m=96,n=128,k=256", "max_pool2d:n=1,h=28,w=28,c=64,k=3"}) {
    const Task task = task_of(spec, 2);
    const SketchSpace made(task);
    for (uint64_t i = 0; i < 12; ++i) {
      Rng rng = Rng(5).fork(i);
      const StructurePtr s = made.draw(rng, 0.3);
      if (!s) continue;
      const std::optional<Candidate> c = draw_numbers(task, *s, rng, 0.3);
      if (!c) continue;
      ++drawn;
      const SketchSpace space(task);
      const auto r = recall(space, c->trace());
      if (!r) continue;
      ++found;
      EXPECT_EQ(Candidate({r->structure->sketch, r->decisions}).hash(), c->hash());
    }
  }
  EXPECT_GE(found * 10, drawn * 8) << found << " of " << drawn;
}

TEST(Recall, AForeignTraceIsNone) {
  const Task task = task_of("matmul:m=96,n=128,k=256");
  const SketchSpace space(task);
  EXPECT_FALSE(recall(space, parse_trace("Y: split i -> i.0 i.1 by 3\n", task).value()));
}

TEST(Follow, TakesTheSameDecisionsElsewhere) {
  const Task donor = task_of(kConv3x3, 2);
  const Task target = task_of("conv2d:n=1,h=14,w=14,ci=128,co=64,k=3,p=1,epilogue=bias", 2);
  const SketchSpace space(donor), other(target);
  const auto found = recall(space, default_candidate(donor).trace());
  ASSERT_TRUE(found.has_value());
  const DagMap map = match(donor.dag, target.dag).map();
  const auto followed = follow(*found, donor, map, other);
  ASSERT_TRUE(followed.has_value());
  EXPECT_TRUE(is_legal(target, followed->candidate));
  EXPECT_EQ(followed->decisions_kept, followed->decisions);
  EXPECT_FALSE(followed->factors.empty());
}

}  // namespace
}  // namespace espalier
