#include "espalier/codegen/asm_report.h"

#include <gtest/gtest.h>

#include "espalier/codegen/emit.h"
#include "espalier/codegen/test_kernels.h"

namespace espalier {
namespace {

// Two loops in a loop: the first runs more often, the second has more instructions.
constexpr std::string_view kNest = R"(	.text
kernel:                                 # @kernel
# %bb.0:                                # %entry
	movq	(%rdi), %rax
.LBB0_1:                                # %i.x10.
                                        # =>This Loop Header: Depth=1
                                        #     Child Loop BB0_2 Depth 2
                                        #     Child Loop BB0_4 Depth 2
	xorl	%ecx, %ecx
.LBB0_2:                                # %k.1.x100.3
                                        #   Parent Loop BB0_1 Depth=1
                                        # =>  This Inner Loop Header: Depth=2
	vmovups	(%rax), %zmm0
	vfmadd231ps	(%rdx){1to16}, %zmm0, %zmm1
	testq	%rax, %rax
	jne	.LBB0_2
# %bb.3:                                # %exit
                                        #   in Loop: Header=BB0_1 Depth=1
	vmovups	%zmm1, 64(%rsp)                 # 64-byte Spill
.LBB0_4:                                # %j.x2.
                                        #   Parent Loop BB0_1 Depth=1
                                        # =>  This Inner Loop Header: Depth=2
	vaddps	%zmm0, %zmm1, %zmm2
	vaddps	%zmm0, %zmm1, %zmm2
	vaddps	%zmm0, %zmm1, %zmm2
	vaddps	%zmm0, %zmm1, %zmm2
	jne	.LBB0_4
# %bb.5:                                # %exit
	retq
.Lfunc_end0:
)";

TEST(AsmReport, LoopsNestAsTheCommentsSay) {
  const AsmReport report = analyze_assembly(kNest, AsmSyntax::X86);
  ASSERT_EQ(report.loops.size(), 3u);
  EXPECT_EQ(report.loops[0].depth, 1);
  EXPECT_EQ(report.loops[1].depth, 2);
  EXPECT_EQ(report.loops[1].name, "k.1");
  EXPECT_EQ(report.loops[0].trips, 10);
  EXPECT_EQ(report.loops[1].trips, 1000);
  EXPECT_EQ(report.loops[2].trips, 20);
}

TEST(AsmReport, ALoopOwnsItsInstructionsAndNotThoseOfLoopsInside) {
  const AsmReport report = analyze_assembly(kNest, AsmSyntax::X86);
  EXPECT_EQ(report.loops[0].counts.total, 2);
  EXPECT_EQ(report.loops[0].counts.spill_stores, 1);
  const InstructionCounts& c = report.loops[1].counts;
  EXPECT_EQ(c.total, 4);
  EXPECT_EQ(c.fma, 1);
  EXPECT_EQ(c.loads, 1);
  EXPECT_EQ(c.broadcasts, 1);
  EXPECT_EQ(c.other, 2);
  EXPECT_EQ(c.loaded_bytes, 68);
  EXPECT_EQ(c.fma_share(), 0.25);
}

TEST(AsmReport, TheHotLoopRunsMostInstructions) {
  const AsmReport report = analyze_assembly(kNest, AsmSyntax::X86);
  ASSERT_EQ(report.hot, std::vector<size_t>{1});
}

TEST(AsmReport, CopiesOfAboutEqualWorkAreAllHot) {
  std::string text(kNest);
  text.replace(text.find("j.x2."), 5, "j.x70.");
  const AsmReport report = analyze_assembly(text, AsmSyntax::X86);
  EXPECT_EQ(report.hot, (std::vector<size_t>{1, 2}));
}

TEST(AsmReport, TheMarginMarksTheHotLoopAndTheTableCountsIt) {
  const std::string text = annotate_assembly(kNest, analyze_assembly(kNest, AsmSyntax::X86));
  EXPECT_NE(text.find("> \tvfmadd231ps"), std::string::npos);
  EXPECT_NE(text.find("> .LBB0_2:"), std::string::npos);
  EXPECT_NE(text.find("  \tvaddps"), std::string::npos);
  EXPECT_EQ(text.find("> \tvaddps"), std::string::npos);
  EXPECT_NE(text.find(".LBB0_2   k.1"), std::string::npos);
}

TEST(AsmReport, CodeWithoutLoopsHasNoHotOne) {
  const AsmReport report = analyze_assembly("f:\n\tretq\n", AsmSyntax::X86);
  EXPECT_TRUE(report.loops.empty());
  EXPECT_NE(annotate_assembly("f:\n\tretq\n", report).find("no loop"), std::string::npos);
}

// Y[t, i] = sum over k of X[k, i], t in parallel.
LoweredKernel column_sums(int threads) {
  const Buffer x = make_buffer("X", DType::F32, {100, 16}, BufferScope::Param);
  const Buffer y = make_buffer("Y", DType::F32, {7, 16}, BufferScope::Param);
  const Var t("t"), k("k"), i("i");
  const Expr sum = make_load(y, {t, i}) + make_load(x, {k, i});
  const Stmt add = make_for(i, 0, 16, ForKind::Vectorized, make_store(y, {t, i}, sum));
  return test::kernel_of(
      {x, y}, make_for(t, 0, 7, ForKind::Parallel, make_for(k, 0, 100, ForKind::Serial, add)),
      threads);
}

TEST(AsmReport, TripsComeFromTheLoweredLoops) {
  for (int threads : {1, 2}) {
    for (const Target& target :
         {test::avx2(), test::avx512(), parse_target("aarch64 features=+neon").value()}) {
      const std::string text = emit_assembly(column_sums(threads), target).value();
      const AsmReport report = analyze_assembly(text, asm_syntax(target));
      ASSERT_EQ(report.hot.size(), 1u) << text;
      const MachineLoop& loop = report.loops[report.hot[0]];
      EXPECT_EQ(loop.name, "k") << text;
      EXPECT_EQ(loop.trips, 700) << text;
      EXPECT_EQ(loop.depth, threads == 1 ? 2 : 1) << text;
    }
  }
}

TEST(AsmReport, AClippedLoopCountsWithItsLargestExtent) {
  const Buffer x = make_buffer("X", DType::F32, {64, 64}, BufferScope::Param);
  const Var i("i"), j("j");
  const Expr extent = min(Expr(int64_t{16}), Expr(int64_t{40}) - i);
  const LoweredKernel kernel = test::kernel_of(
      {x}, make_for(i, 0, 38, ForKind::Serial,
                    make_for(j, 0, extent, ForKind::Serial,
                             make_store(x, {i, j}, make_load(x, {i, j}) + Expr(1.0f)))));
  const std::string text = emit_assembly(kernel, test::avx2()).value();
  const AsmReport report = analyze_assembly(text, AsmSyntax::X86);
  ASSERT_FALSE(report.hot.empty()) << text;
  EXPECT_EQ(report.loops[report.hot[0]].trips, 38 * 16) << text;
}

}  // namespace
}  // namespace espalier
