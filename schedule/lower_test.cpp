#include "espalier/schedule/lower.h"

#include <gtest/gtest.h>

#include <cmath>

#include "espalier/ir/evaluate.h"
#include "espalier/ir/ops/workload.h"
#include "espalier/support/rng.h"

namespace espalier {
namespace {

Target avx512() {
  return *parse_target(
      "x86_64 cpu=znver4 features=avx2,fma,avx512f,avx512vl,avx512bw,avx512dq bits=512 regs=32 "
      "l1=32768 l2=1048576 l3=33554432 line=64 cores=2");
}

// Lowers the schedule, interprets it on small integers (so that sums are exact in any order) and
// compares with the definition (where there is an exp or a division, up to their rounding). Returns
// the lowered text of `main`.
std::string check(const std::string& workload, const std::string& trace_text) {
  const ComputeDag dag = load_workload(workload).value();
  Task task{dag, avx512(), 1, workload};
  const Trace trace = parse_trace(trace_text, task).value();
  Replayed replayed = replay(task, trace);
  EXPECT_TRUE(replayed.ok()) << explain(replayed.rejection(), task, trace);
  if (!replayed.ok()) return "";
  const LoweredKernel kernel = lower(replayed.state()).value();

  Rng rng(7);
  std::vector<Array> args;
  for (const std::vector<int>* group : {&dag.inputs(), &dag.constants()}) {
    for (int i : *group) {
      const TensorNode& t = *dag.stage(i).tensor.get();
      Array a(t.dtype, t.shape);
      for (int64_t e = 0; e < a.elements(); ++e) a.set(e, static_cast<double>(rng.below(9)) - 4);
      args.push_back(std::move(a));
    }
  }
  const std::vector<Array> want = evaluate(dag, args).value();
  std::vector<Array> outputs, packed;
  for (int o : dag.outputs()) {
    outputs.emplace_back(dag.stage(o).tensor->dtype, dag.stage(o).tensor->shape);
    for (int64_t e = 0; e < outputs.back().elements(); ++e) outputs.back().set(e, NAN);
  }
  for (const auto& p : kernel.main.params) {
    if (p.role == LoweredFunc::Role::Packed) packed.emplace_back(p.buffer->dtype, p.buffer->shape);
  }
  auto bind = [&](const LoweredFunc& f) {
    std::vector<void*> pointers;
    size_t next_packed = 0;
    for (const auto& p : f.params) {
      if (p.role == LoweredFunc::Role::Packed) {
        pointers.push_back(packed[next_packed++].data());
        continue;
      }
      void* found = nullptr;
      for (size_t i = 0; i < dag.inputs().size(); ++i) {
        if (dag.inputs()[i] == p.stage) found = args[i].data();
      }
      for (size_t i = 0; i < dag.constants().size(); ++i) {
        if (dag.constants()[i] == p.stage) found = args[dag.inputs().size() + i].data();
      }
      for (size_t i = 0; i < dag.outputs().size(); ++i) {
        if (dag.outputs()[i] == p.stage) found = outputs[i].data();
      }
      pointers.push_back(found);
    }
    return pointers;
  };
  if (!packed.empty()) {
    Result<void> ran = interpret(kernel.pack, bind(kernel.pack));
    EXPECT_TRUE(ran.ok()) << to_string(ran.error());
  }
  Result<void> ran = interpret(kernel.main, bind(kernel.main));
  EXPECT_TRUE(ran.ok()) << to_string(ran.error()) << to_string(kernel.main);
  for (size_t o = 0; o < outputs.size(); ++o) {
    for (int64_t e = 0; e < outputs[o].elements(); ++e) {
      const double got = outputs[o].get(e), expected = want[o].get(e);
      const bool same = std::abs(got - expected) <= 1e-6 * std::abs(expected) || got == expected ||
                        (std::isnan(got) && std::isnan(expected));
      EXPECT_TRUE(same) << "output " << o << " element " << e << ": " << got << " is not "
                        << expected << "\n"
                        << to_string(kernel.main);
      if (!same) return to_string(kernel.main);
    }
  }
  return to_string(kernel.main);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Lower, DefinitionOrder) { check("matmul:m=5,n=7,k=3", ""); }

TEST(Lower, PaddingClipsSerialLoops) {
  const std::string text = check("conv2d:n=1,h=5,w=6,ci=2,co=3,k=3,s=1,p=1", "");
  EXPECT_FALSE(has(text, "if ")) << text;
}

TEST(Lower, TailOfASplitIsClipped) {
  const std::string text = check("elementwise:op=relu,shape=13", "Y: split i -> i.0 i.1 by 4\n");
  EXPECT_FALSE(has(text, "if ")) << text;
}

TEST(Lower, FactorAboveTheExtent) {
  check("matmul:m=2,n=2,k=2",
        "Y: split i -> i.0 i.1 by 4\nY: split k -> k.0 k.1 by 7\nY: unroll k.1\n");
}

TEST(Lower, TileOfUnrolledRowsIsPeeled) {
  const std::string text = check("matmul:m=13,n=9,k=5",
                                 "Y: split i -> i.0 i.1 by 4\nY: reorder i.0 j k i.1\n"
                                 "Y: unroll i.1\n");
  EXPECT_FALSE(has(text, "if ")) << text;
}

TEST(Lower, AccumulatorWithPartialSumsOutside) {
  check("matmul:m=13,n=17,k=11",
        "Y: split i -> i.0 i.1 by 4\nY: split j -> j.0 j.1 by 8\nY: split k -> k.0 k.1 by 4\n"
        "Y: reorder k.0 i.0 j.0 k.1 i.1 j.1\n"
        "Y: cache_read 1 at k.0 layout [j.0, k.1, j.1] -> B.pack\n"
        "Y: cache_read 0 at i.0 layout [k.1, i.1] -> A.pack\n"
        "Y: cache_write at j.0 -> Y.acc\n"
        "Y.acc: unroll i.1\nY.acc: vectorize j.1\nY.acc: registers\n"
        "Y: unroll i.1.w\nY: vectorize j.1.w\n");
}

TEST(Lower, NoTermsWriteTheIdentity) {
  check("matmul:m=3,n=4,k=0",
        "Y: split k -> k.0 k.1 by 4\nY: reorder k.0 i j k.1\nY: cache_write at k.0 -> Y.acc\n");
}

TEST(Lower, EpilogueAfterTheLastBlock) {
  check("matmul:m=12,n=10,k=9,epilogue=bias+relu",
        "after_bias: inline\n"
        "product: split i -> i.0 i.1 by 4\nproduct: split k -> k.0 k.1 by 4\n"
        "product: reorder i.0 k.0 i.1 j k.1\n"
        "product: cache_write at k.0 -> product.acc\n"
        "Y: compute_after product k.0\n"
        "product: share Y\n");
}

TEST(Lower, ConvolutionWithPackedWeightsAndPeeledPadding) {
  const std::string text =
      check("conv2d:n=1,h=6,w=12,ci=3,co=20,k=3,s=1,p=1,epilogue=bias+relu",
            "after_bias: inline\n"
            "Y: split w -> w.0 w.1 by 4\nY: split co -> co.0 co.1 by 16\n"
            "Y: reorder n h w.0 co.0 w.1 co.1\nY: partition w.0\nY: unroll w.1\n"
            "Y: vectorize co.1\n"
            "conv: compute_at Y co.0\n"
            "conv: pack_constant 1 layout [dim 3 outer 16, dim 0, dim 1, dim 2, dim 3 inner 16] "
            "-> W.pack\n"
            "conv: reorder kh kw ci w co\nconv: unroll kw\nconv: unroll w\n"
            "conv: vectorize co\nconv: registers\n");
  EXPECT_TRUE(has(text, "W.pack")) << text;
}

TEST(Lower, PackedInputStandsForPadding) {
  const std::string text = check("conv2d:n=1,h=5,w=9,ci=3,co=4,k=3,s=1,p=1",
                                 "Y: split w -> w.0 w.1 by 4\nY: reorder n h w.0 kh kw ci w.1 co\n"
                                 "Y: cache_read 0 at w.0 layout [kh, dim 2, dim 3] -> X.pack\n");
  EXPECT_TRUE(has(text, "select")) << text;
}

TEST(Lower, SoftmaxInOnePass) {
  check("softmax:rows=5,cols=23",
        "total: compute_at Y i\npower: compute_at Y i\ntop: compute_at Y i\n");
}

TEST(Lower, PartialResultsOfLanesAndChains) {
  check("reduce:op=sum,shape=5x37,axes=1",
        "Y: split r1 -> r1.0 r1.1 r1.2 by 2 4\nY: rfactor r1.1 r1.2 -> Y.part\n"
        "Y.part: compute_at Y i0.w\n");
}

TEST(Lower, ScheduleOfAFusedConvolutionIsAMatmul) {
  check("conv2d:n=1,h=5,w=7,ci=3,co=4,k=1,s=1,p=0",
        "Y: fuse h w -> h_w\nY: split h_w -> h_w.0 h_w.1 by 6\nY: reorder h_w.0 ci h_w.1 co\n"
        "Y: cache_write at h_w.0 -> Y.acc\nY.acc: unroll h_w.1\n");
}

}  // namespace
}  // namespace espalier
