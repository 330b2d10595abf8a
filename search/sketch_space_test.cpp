#include "espalier/search/sketch_space.h"

#include <set>

#include "espalier/search/default_schedule.h"
#include "espalier/search/test_support.h"

namespace espalier {
namespace {

using testing::narrow_target;
using testing::task_of;
using testing::wide_target;

const char* const kWorkloads[] = {
    "matmul:m=512,n=512,k=512",
    "matmul:m=127,n=509,k=251",
    "matmul:m=1,n=1000,k=2048,tb=1,weights=constant,epilogue=bias",
    "matmul:m=64,n=1,k=100",
    "matmul:m=1,n=1,k=1000",
    "matmul:m=1,n=1,k=1",
    "batch_matmul:b=3,m=20,n=24,k=16,tb=1",
    "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,epilogue=bias+relu",
    "conv2d:n=1,h=7,w=7,ci=512,co=512,k=3,s=1,p=1,epilogue=bias+relu",
    "conv2d:n=1,h=224,w=224,ci=3,co=64,k=7,s=2,p=3,epilogue=bias+relu",
    "conv2d:n=2,h=13,w=13,ci=31,co=33,k=1,epilogue=bias+relu",
    "conv2d:n=1,h=14,w=14,ci=64,co=64,k=3,p=1,g=8,epilogue=bias+relu",
    "conv1d:n=1,l=127,ci=31,co=45,k=5,d=2,p=3",
    "conv3d:n=1,depth=5,h=17,w=19,ci=7,co=29,k=3,s=2,p=1",
    "conv2d:n=1,h=28,w=28,ci=64,co=64,k=3,p=1,layout=nchw,epilogue=bias+relu",
    "conv2d_transpose:n=1,h=16,w=16,ci=64,co=64,k=4,s=2,p=1,epilogue=bias+relu",
    "conv2d_transpose:n=1,h=9,w=11,ci=31,co=29,k=3,s=2,p=1,op=1",
    "capsule_conv2d:n=1,h=16,w=16,ci=8,co=32,k=3,p=1",
    "max_pool2d:n=1,h=57,w=57,c=13,k=3,s=2,p=1,layout=nchw",
    "depthwise_conv2d:n=1,h=57,w=57,c=13,k=3,p=1,layout=nchw",
    "reduce:op=argmax,shape=1024x257,axes=1",
    "norm2:b=3,m=61,n=131",
    "attention_scores:seq=61,heads=3,dim=37",
    "depthwise_conv2d:n=1,h=57,w=57,c=131,k=3,s=1,p=1,epilogue=bias+relu6",
    "max_pool2d:n=1,h=28,w=28,c=64,k=3,s=2,p=1",
    "avg_pool2d:n=1,h=28,w=28,c=64,k=3,s=2,p=1",
    "global_avg_pool2d:n=1,h=7,w=7,c=2048",
    "reduce:op=sum,shape=1024x1024,axes=1",
    "reduce:op=sum,shape=1024x1024,axes=0",
    "reduce:op=max,shape=1000,axes=0",
    "reduce:op=sum,shape=4x5x6,axes=0x2",
    "softmax:rows=997,cols=1021",
    "softmax:rows=1,cols=3",
    "layer_norm:rows=127,cols=769",
    "elementwise:op=gelu,shape=128x3072",
    "elementwise:op=add,shape=131x111x3,b=3",
    "elementwise:op=relu,shape=1x1x127x131",
    "transpose:shape=100x70,perm=1x0",
    "transpose:shape=3x5x7,perm=2x0x1",
    "embedding:rows=100,cols=128,vocab=1000",
};

class EveryWorkload : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryWorkload, HasAPreferredSketchThatNoRuleHadToGiveUp) {
  for (int threads : {1, 2}) {
    for (const Target& target : {wide_target(), narrow_target()}) {
      const SketchSpace space(task_of(GetParam(), threads, target));
      EXPECT_NE(space.along({}), nullptr) << space.explain_rejection({});
      const Replayed r = replay(space.task(), space.preferred()->candidate());
      ASSERT_TRUE(r.ok());
      EXPECT_LE(code_size(r.state()), kMaxCodeSize);
    }
  }
}

TEST_P(EveryWorkload, EveryStructureReplaysWithItsStart) {
  const SketchSpace space(task_of(GetParam(), 2));
  for (const StructurePtr& s : space.list(200).structures) {
    const Replayed r = replay(space.task(), s->candidate());
    EXPECT_TRUE(r.ok()) << explain(r.rejection(), space.task(), s->candidate().trace());
    EXPECT_EQ(s->slot_names.size(), s->sketch->slots.size());
  }
}

TEST_P(EveryWorkload, ScriptsLeadBackToTheirSketch) {
  const SketchSpace space(task_of(GetParam()));
  Rng rng(5);
  for (int i = 0; i < 20; ++i) {
    const StructurePtr drawn = space.draw(rng);
    if (!drawn) continue;
    const StructurePtr again = space.along(script_of(drawn->choices));
    ASSERT_NE(again, nullptr);
    EXPECT_EQ(again->sketch, drawn->sketch);
    EXPECT_EQ(again->start, drawn->start);
  }
}

TEST_P(EveryWorkload, SinglePrecisionIsNotAssumed) {
  // The reference is the same program in f64.
  EXPECT_TRUE(replay(task_of(GetParam()), default_candidate(task_of(GetParam()))).ok());
}

INSTANTIATE_TEST_SUITE_P(Search, EveryWorkload, ::testing::ValuesIn(kWorkloads));

std::string nest_of(const std::string& workload, int threads = 1) {
  const Task task = task_of(workload, threads);
  const Replayed r = replay(task, default_candidate(task));
  return r.ok() ? print_nest(r.state()) : "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(SketchSpace, MatmulsKeepARegisterTileAndPackWhatTheyReuse) {
  const std::string nest = nest_of("matmul:m=512,n=512,k=512");
  EXPECT_TRUE(contains(nest, "registers")) << nest;
  EXPECT_TRUE(contains(nest, "B.pack: f32[512, ")) << nest;
  EXPECT_TRUE(contains(nest, "vectorize")) << nest;
  EXPECT_FALSE(contains(nest, "parallel")) << nest;
}

// Convolutions of all kinds are the same to the rules: a register tile over packed weights.
TEST(SketchSpace, ConvolutionsOfAllKindsHaveARegisterTile) {
  for (const char* spec :
       {"conv1d:n=1,l=128,ci=32,co=64,k=3,p=1", "conv3d:n=1,depth=4,h=16,w=16,ci=16,co=32,k=3,p=1",
        "conv2d:n=1,h=28,w=28,ci=64,co=64,k=3,p=2,d=2",
        "conv2d:n=1,h=28,w=28,ci=64,co=64,k=3,p=1,g=2",
        "conv2d:n=1,h=28,w=28,ci=64,co=64,k=3,p=1,layout=nchw",
        "conv2d_transpose:n=1,h=16,w=16,ci=64,co=64,k=4,s=2,p=1",
        "capsule_conv2d:n=1,h=16,w=16,ci=8,co=32,k=3,p=1"}) {
    const std::string nest = nest_of(spec);
    for (const char* part : {"at bind", "] registers", " vectorize", " unroll"}) {
      EXPECT_TRUE(contains(nest, part)) << spec << "\n" << nest;
    }
    EXPECT_FALSE(contains(nest, "X.pack")) << spec << "\n" << nest;
  }
}

TEST(SketchSpace, WeightsArePackedOnceAtBind) {
  const std::string nest = nest_of("conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,p=1,epilogue=bias+relu");
  EXPECT_TRUE(contains(nest, "at bind")) << nest;
  EXPECT_TRUE(contains(nest, "partition")) << nest;
  // The bias and the rectifier are applied to the tile, not in a pass of their own.
  EXPECT_TRUE(contains(nest, "Y = f(conv, bias)")) << nest;
  EXPECT_EQ(nest.find("for n: 1"), nest.rfind("\nfor n: 1") + 1) << nest;
}

// Dozens of instructions for each accumulator of a tile take longer to compile than to run.
TEST(SketchSpace, LongEpiloguesAreNotRepeatedForEachRowOfATile) {
  const SketchSpace space(
      task_of("matmul:m=128,n=3072,k=768,tb=1,weights=constant,epilogue=bias+gelu"));
  for (const StructurePtr& s : space.list(500).structures) {
    const Replayed r = replay(space.task(), s->candidate());
    ASSERT_TRUE(r.ok());
    const Stage& y = r.state().stage(r.state().find_stage("Y"));
    for (LoopId l : y.order) EXPECT_FALSE(y.loops[static_cast<size_t>(l)].unroll) << r.state();
  }
}

TEST(SketchSpace, SoftmaxGoesOncePerRow) {
  const std::string nest = nest_of("softmax:rows=64,cols=1000");
  size_t roots = 0;
  for (size_t at = nest.find("\nfor "); at != std::string::npos; at = nest.find("\nfor ", at + 1)) {
    ++roots;
  }
  EXPECT_EQ(roots + (nest.rfind("for ", 0) == 0), 1u) << nest;
}

TEST(SketchSpace, RowSumsHaveLanesAndChains) {
  const std::string nest = nest_of("reduce:op=sum,shape=64x1024,axes=1");
  EXPECT_TRUE(contains(nest, "f32[1, 4, 16] registers")) << nest;
}

TEST(SketchSpace, ThreadsShareALongReductionOfFewResults) {
  const std::string nest = nest_of("matmul:m=16,n=16,k=65536,epilogue=bias+relu", 2);
  EXPECT_TRUE(contains(nest, "for k.0: 2 parallel")) << nest;
  EXPECT_TRUE(contains(nest, "product.part.acc: f32[")) << nest;
  EXPECT_TRUE(contains(nest, "registers")) << nest;
  EXPECT_FALSE(contains(nest_of("matmul:m=16,n=16,k=65536"), ".part"));
}

TEST(SketchSpace, LanesLieAlongTheTermsWhereThatSavesACopy) {
  // B is stored [n, k] and used for 16 rows only.
  const std::string nest = nest_of("matmul:m=16,n=1000,k=2000,tb=1");
  EXPECT_TRUE(contains(nest, "Y.part: f32[8, 3, 1, 16] registers")) << nest;
  EXPECT_FALSE(contains(nest, "B.pack")) << nest;
}

TEST(SketchSpace, RowsThatCompeteForCacheLinesAreFew) {
  // Rows of A lie 8 KiB apart: as many at a time as the first cache has ways, less one.
  const std::string nest = nest_of("matmul:m=2048,n=16,k=2048");
  EXPECT_TRUE(contains(nest, "f32[7, 16] registers")) << nest;
}

TEST(SketchSpace, LoopsAreParallelOnlyForThreads) {
  for (const char* w : kWorkloads) EXPECT_FALSE(contains(nest_of(w), "parallel")) << w;
  EXPECT_TRUE(contains(nest_of("matmul:m=512,n=512,k=512", 2), "parallel"));
}

TEST(SketchSpace, EmptyExtentsKeepTheirPlainNest) {
  const Result<ComputeDag> dag = parse_dag(
      "A = placeholder f32[0, 10]\nY[i: 0] = sum[k: 10](A[i, k])\n"
      "Z[i: 10] = sum[k: 0](A[k, i])\nreturn Y, Z\n");
  ASSERT_TRUE(dag.ok()) << to_string(dag.error());
  const Task task{*dag, wide_target(), 2, ""};
  EXPECT_TRUE(replay(task, default_candidate(task)).ok());
}

TEST(SketchSpace, ChainsOfReductionsAndSeveralOutputsAreScheduled) {
  const Result<ComputeDag> dag = parse_dag(
      "A = placeholder f32[40, 50]\nB = placeholder f32[50, 60]\nC = placeholder f32[60, 30]\n"
      "D[i: 40, j: 60] = sum[k: 50](A[i, k] * B[k, j])\n"
      "E[i: 40, j: 30] = sum[k: 60](D[i, k] * C[k, j])\n"
      "F[i: 40] = max[k: 30](E[i, k])\nG[i: 40, j: 30] = E[i, j] - F[i]\n"
      "H[] = sum[i: 40, j: 30](E[i, j])\nreturn G, H, D\n");
  ASSERT_TRUE(dag.ok()) << to_string(dag.error());
  const Task task{*dag, wide_target(), 2, ""};
  const SketchSpace space(task);
  EXPECT_NE(space.along({}), nullptr) << space.explain_rejection({});
  EXPECT_GT(space.list(300).structures.size(), 4u);
}

TEST(SketchSpace, EqualSketchesAreOneObject) {
  const SketchSpace space(task_of("matmul:m=64,n=64,k=64"));
  const SketchSpace::Listing listing = space.list(1000);
  EXPECT_TRUE(listing.complete);
  std::set<const Sketch*> pointers;
  std::set<uint64_t> hashes;
  for (const StructurePtr& s : listing.structures) {
    pointers.insert(s->sketch.get());
    hashes.insert(s->sketch->hash());
  }
  EXPECT_EQ(pointers.size(), listing.structures.size());
  EXPECT_EQ(hashes.size(), listing.structures.size());
}

TEST(SketchSpace, CustomRulesComeFirst) {
  class Mine final : public SketchRule {
   public:
    std::string_view name() const override { return "mine"; }
    double suits(const PartialSketch&, StageId) const override { return 1000; }
    void apply(PartialSketch& sketch, StageId s, Chooser&) const override {
      const std::vector<LoopId> parts = sketch.split(s, 0, {SketchBuilder::fixed(4)});
      sketch.vectorize(s, parts[1]);
      // Lanes come innermost for a rank-1 stage.
      sketch.finish(s);
    }
  };
  const SketchSpace space(task_of("elementwise:op=relu,shape=64"), {std::make_shared<Mine>()});
  EXPECT_EQ(to_string(*space.preferred()->sketch, space.task()),
            "Y: split i -> i.0 i.1 by 4\nY: vectorize i.1\n");
}

TEST(SketchSpace, ARuleThatIsRejectedLeavesThePlainNest) {
  class Broken final : public SketchRule {
   public:
    std::string_view name() const override { return "broken"; }
    double suits(const PartialSketch&, StageId) const override { return 1000; }
    void apply(PartialSketch& sketch, StageId s, Chooser&) const override {
      sketch.vectorize(s, 99);
      sketch.finish(s);
    }
  };
  const SketchSpace space(task_of("elementwise:op=relu,shape=64"), {std::make_shared<Broken>()});
  EXPECT_EQ(space.along({}), nullptr);
  EXPECT_FALSE(space.explain_rejection({}).empty());
  EXPECT_TRUE(space.preferred()->sketch->steps.empty());
}

}  // namespace
}  // namespace espalier
