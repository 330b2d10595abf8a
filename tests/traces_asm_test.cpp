// The schedules written by hand in bench/traces as assembly: what their hot loops hold. Code is
// only generated, so that both kinds of target are looked at on any machine.
#include <gtest/gtest.h>

#include <string>

#include "espalier/codegen/asm_report.h"
#include "espalier/codegen/emit.h"
#include "espalier/ir/ops/workload.h"
#include "espalier/schedule/lower.h"
#include "espalier/support/fd.h"

namespace espalier {
namespace {

const std::string kSource = ESPALIER_SOURCE_DIR;
const char* const kAvx512 =
    "x86_64 cpu=skylake-avx512 features=+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl";
const char* const kAvx2 = "x86_64 cpu=haswell features=+avx2,+fma,+f16c";

struct Case {
  std::string trace;
  const char* target;
  // Textual replacements that make tiles of 16 registers from those of 32.
  std::vector<std::pair<std::string, std::string>> narrower;
  int fma;       // a pass of the hot loop
  double share;  // of its instructions that are multiply-adds, at least
};

class HotLoop : public ::testing::TestWithParam<Case> {};

TEST_P(HotLoop, KeepsItsTileInRegisters) {
  const Case& c = GetParam();
  std::string text = read_file(kSource + "/bench/traces/" + c.trace + ".trace").value();
  const std::string workload = text.substr(2, text.find('\n') - 2);
  for (const auto& [from, to] : c.narrower) {
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  const Task task{load_workload(workload).value(), parse_target(c.target).value(), 1, workload};
  const Trace trace = parse_trace(text, task).value();
  const Replayed replayed = replay(task, trace);
  ASSERT_TRUE(replayed.ok()) << explain(replayed.rejection(), task, trace);
  const std::string code = emit_assembly(lower(replayed.state()).value(), task.target).value();
  const AsmReport report = analyze_assembly(code, AsmSyntax::X86);
  ASSERT_FALSE(report.hot.empty());
  for (size_t i : report.hot) {
    const MachineLoop& loop = report.loops[i];
    EXPECT_EQ(loop.counts.spill_stores + loop.counts.spill_reloads, 0) << loop.label;
    EXPECT_EQ(loop.counts.stores, 0) << loop.label;
  }
  const MachineLoop& hottest = report.loops[report.hot[0]];
  EXPECT_EQ(hottest.counts.fma, c.fma) << annotate_assembly(code, report);
  EXPECT_GE(hottest.counts.fma_share(), c.share) << annotate_assembly(code, report);
}

// A tile of r rows and v vectors: r v multiply-adds, v loads and r broadcasts, and five
// instructions that count, move the offsets of the two operands along, compare and jump.
constexpr double share_of(int rows, int vectors) {
  const double fma = rows * vectors;
  return fma / (fma + rows + vectors + 5);
}

INSTANTIATE_TEST_SUITE_P(
    Traces, HotLoop,
    ::testing::Values(
        Case{"gemm", kAvx512, {}, 24, share_of(12, 2)},
        Case{"conv3x3", kAvx512, {}, 28, share_of(14, 2)},
        Case{"gemm", kAvx2, {{"by 8 12", "by 16 6"}, {"by 16 32", "by 32 16"}}, 12, share_of(6, 2)},
        Case{"conv3x3",
             kAvx2,
             {{"by 14", "by 6"},
              {"by 32", "by 16"},
              {"outer 32", "outer 16"},
              {"inner 32", "inner 16"}},
             12,
             share_of(6, 2)}),
    [](const auto& info) {
      return info.param.trace + (info.param.target == kAvx2 ? "_avx2" : "_avx512");
    });

}  // namespace
}  // namespace espalier
