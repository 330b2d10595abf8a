#include "espalier/codegen/asm_instruction.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

AsmKind x86(std::string_view line, bool frame_pointer = false) {
  return classify(parse_instruction(line), AsmSyntax::X86, frame_pointer);
}
AsmKind arm(std::string_view line) {
  return classify(parse_instruction(line), AsmSyntax::AArch64, false);
}

bool is_nothing(const AsmKind& k) {
  return !(k.fma || k.load || k.broadcast || k.store || k.shuffle || k.spill_store ||
           k.spill_reload);
}

TEST(AsmInstruction, OperandsAreSplitOutsideOfBrackets) {
  const AsmInstruction i =
      parse_instruction("\tvfmadd231ps\t-64(%rax,%rcx,4){1to16}, %zmm1, %zmm2 ");
  EXPECT_EQ(i.mnemonic, "vfmadd231ps");
  EXPECT_EQ(i.operands,
            (std::vector<std::string_view>{"-64(%rax,%rcx,4){1to16}", "%zmm1", "%zmm2"}));
}

TEST(AsmInstruction, AMultiplyAddOfRegistersLoadsNothing) {
  const AsmKind k = x86("vfmadd231ps\t%ymm0, %ymm1, %ymm2");
  EXPECT_TRUE(k.fma);
  EXPECT_FALSE(k.load || k.broadcast || k.spill_reload);
  EXPECT_EQ(k.loaded_bytes, 0);
}

TEST(AsmInstruction, AMultiplyAddWithAMemoryOperandIsALoadToo) {
  const AsmKind k = x86("vfmadd231ps\t32(%rax), %ymm1, %ymm2");
  EXPECT_TRUE(k.fma && k.load);
  EXPECT_EQ(k.loaded_bytes, 32);
}

TEST(AsmInstruction, AnElementRepeatedByTheMultiplyAddIsABroadcast) {
  const AsmKind k = x86("vfmadd231ps\t(%rax){1to16}, %zmm1, %zmm2");
  EXPECT_TRUE(k.fma && k.broadcast);
  EXPECT_FALSE(k.load);
  EXPECT_EQ(k.loaded_bytes, 4);
}

TEST(AsmInstruction, BroadcastsFromMemoryAndFromRegistersDiffer) {
  EXPECT_TRUE(x86("vbroadcastss\t4(%rdx), %ymm3").broadcast);
  EXPECT_EQ(x86("vbroadcastsd\t4(%rdx), %ymm3").loaded_bytes, 8);
  const AsmKind k = x86("vbroadcastss\t%xmm3, %ymm3");
  EXPECT_TRUE(k.shuffle);
  EXPECT_FALSE(k.broadcast);
}

TEST(AsmInstruction, StoresAndLoadsByPlaceOfTheOperand) {
  EXPECT_TRUE(x86("vmovups\t%zmm1, (%rdx)").store);
  EXPECT_FALSE(x86("vmovups\t%zmm1, (%rdx)").load);
  EXPECT_TRUE(x86("vmovups\t(%rdx), %zmm1").load);
  EXPECT_EQ(x86("vmovups\t(%rdx), %zmm1").loaded_bytes, 64);
  EXPECT_TRUE(x86("vmovaps\t(%rdx), %zmm1 {%k1} {z}").load);
  EXPECT_TRUE(x86("vmovntps\t%ymm1, (%rdx)").store);
}

TEST(AsmInstruction, ChangingMemoryInPlaceReadsAndWrites) {
  const AsmKind k = x86("addq\t$8, (%rdx)");
  EXPECT_TRUE(k.load && k.store);
  EXPECT_FALSE(x86("cmpq\t$8, (%rdx)").store);
}

TEST(AsmInstruction, TheStackIsSpills) {
  EXPECT_TRUE(x86("vmovups\t%ymm1, 32(%rsp)").spill_store);
  EXPECT_FALSE(x86("vmovups\t%ymm1, 32(%rsp)").store);
  const AsmKind folded = x86("vfmadd231ps\t32(%rsp), %ymm1, %ymm2");
  EXPECT_TRUE(folded.fma && folded.spill_reload);
  EXPECT_FALSE(folded.load);
}

TEST(AsmInstruction, RbpIsTheStackOnlyAsAFramePointer) {
  EXPECT_TRUE(x86("vmovups\t-32(%rbp), %ymm1", true).spill_reload);
  EXPECT_TRUE(x86("vmovups\t-32(%rbp), %ymm1", false).load);
}

TEST(AsmInstruction, NarrowReadsCountTheirOwnBytes) {
  EXPECT_EQ(x86("vpmovsxbd\t(%rax), %zmm0").loaded_bytes, 16);
  EXPECT_EQ(x86("vcvtph2ps\t(%rax), %ymm0").loaded_bytes, 16);
  EXPECT_EQ(x86("vmovss\t(%rax), %xmm0").loaded_bytes, 4);
  EXPECT_EQ(x86("movzbl\t(%rax), %ecx").loaded_bytes, 1);
  EXPECT_EQ(x86("movq\t(%rax), %r10").loaded_bytes, 8);
  EXPECT_EQ(x86("movl\t(%rax), %r10d").loaded_bytes, 4);
}

TEST(AsmInstruction, ShufflesAreKnown) {
  for (const char* line :
       {"vperm2f128\t$32, %ymm1, %ymm2, %ymm3", "vunpcklps\t%ymm1, %ymm2, %ymm3",
        "vextractf128\t$1, %ymm1, %xmm2", "vinsertf128\t$1, %xmm1, %ymm1, %ymm2"}) {
    EXPECT_TRUE(x86(line).shuffle) << line;
  }
}

TEST(AsmInstruction, AddressesPrefetchesAndCallsTouchNothing) {
  for (const char* line : {"leaq\t8(%rax,%rcx,4), %rdx", "prefetcht0\t64(%rax)", "callq\t*(%rax)",
                           "incq\t%rax", "jne\t.LBB0_1", "retq"}) {
    EXPECT_TRUE(is_nothing(x86(line))) << line;
  }
}

TEST(AsmInstruction, AArch64) {
  EXPECT_TRUE(arm("fmla\tv0.4s, v1.4s, v2.s[1]").fma);
  EXPECT_EQ(arm("ldp\tq0, q1, [x8, #32]").loaded_bytes, 32);
  EXPECT_TRUE(arm("ld1r\t{ v3.4s }, [x9]").broadcast);
  EXPECT_EQ(arm("ld1r\t{ v3.4s }, [x9]").loaded_bytes, 4);
  EXPECT_TRUE(arm("str\tq0, [x8], #16").store);
  EXPECT_TRUE(arm("ldr\tq0, [sp, #16]").spill_reload);
  EXPECT_TRUE(arm("dup\tv0.4s, v1.s[0]").shuffle);
  EXPECT_TRUE(is_nothing(arm("add\tx8, x8, #1")));
}

}  // namespace
}  // namespace espalier
