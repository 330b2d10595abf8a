// The schedules written by hand in bench/traces as assembly: what their hot loops hold. Code is
// only generated, so that both kinds of target are looked at on any machine.
#include <gtest/gtest.h>

#include <algorithm>
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
  int fma;       // a pass of the hot loop
  double share;  // of its instructions that are multiply-adds, at least
};

class HotLoop : public ::testing::TestWithParam<Case> {};

TEST_P(HotLoop, KeepsItsTileInRegisters) {
  const Case& c = GetParam();
  const std::string text = read_file(kSource + "/bench/traces/" + c.trace + ".trace").value();
  const std::string start = "# workload ";
  ASSERT_TRUE(text.starts_with(start));
  const std::string workload = text.substr(start.size(), text.find('\n') - start.size());
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
    ::testing::Values(Case{"matmul/packed_blocks.512", kAvx512, 24, share_of(12, 2)},
                      Case{"matmul/column_panels.512", kAvx512, 24, share_of(6, 4)},
                      Case{"matmul/square_1024.256", kAvx2, 12, share_of(4, 3)},
                      Case{"conv2d/window_3x3.512", kAvx512, 28, share_of(14, 2)},
                      Case{"conv2d/window_3x3.256", kAvx2, 12, share_of(6, 2)},
                      Case{"conv2d/pointwise.512", kAvx512, 28, share_of(14, 2)},
                      Case{"conv2d/pointwise.256", kAvx2, 8, share_of(4, 2)}),
    [](const auto& info) {
      std::string name = info.param.trace;
      std::replace(name.begin(), name.end(), '/', '_');
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

}  // namespace
}  // namespace espalier
