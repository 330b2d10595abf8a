// The bodies that the closed forms speak of, against the hot loops of the generated assembly.
#include <gtest/gtest.h>

#include "espalier/codegen/asm_report.h"
#include "espalier/codegen/emit.h"
#include "espalier/cost_model/stage_cost.h"
#include "espalier/ir/ops/workload.h"
#include "espalier/schedule/lower.h"
#include "espalier/schedule/text.h"

namespace espalier {
namespace {

const char* const kAvx512 =
    "x86_64 cpu=skylake-avx512 features=+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl";
const char* const kAvx2 = "x86_64 cpu=haswell features=+avx2,+fma,+f16c";

struct Tile {
  const char* target;
  int rows, columns;
  bool spills = false;
};

void PrintTo(const Tile& tile, std::ostream* os) { *os << tile.rows << " x " << tile.columns; }

class HotBody : public ::testing::TestWithParam<Tile> {};

TEST_P(HotBody, IsAsTheAssemblySays) {
  const Tile& tile = GetParam();
  const std::string workload = "matmul:m=480,n=480,k=480";
  const Task task{load_workload(workload).value(), parse_target(tile.target).value(), 1, workload};
  const std::string trace =
      "Y: split i -> i.0 i.1 by " + std::to_string(tile.rows) + "\nY: split j -> j.0 j.1 by " +
      std::to_string(tile.columns) +
      "\nY: reorder j.0 i.0 k i.1 j.1\nY: cache_read 1 at j.0 layout [k, j.1] -> B.pack\n"
      "B.pack: vectorize j.1\nY: cache_write at i.0 -> Y.acc\nY.acc: unroll i.1\n"
      "Y.acc: vectorize j.1\nY.acc: registers\nY: unroll i.1.w\nY: vectorize j.1.w\n";
  const State state = replay(task, parse_trace(trace, task).value()).take();
  const std::string code = emit_assembly(lower(state).value(), task.target).value();
  const AsmReport report = analyze_assembly(code, AsmSyntax::X86);
  ASSERT_FALSE(report.hot.empty());
  const InstructionCounts& counts = report.loops[report.hot[0]].counts;

  const DeviceModel device = data_sheet(task.target);
  const ScheduleCost cost = cost_of(state, shape_of(state), device);
  const StageCost* hot = nullptr;
  for (const StageCost& c : cost.stages) {
    if (hot == nullptr || c.core.number() > hot->core.number()) hot = &c;
  }
  EXPECT_EQ(hot->results.number() * hot->terms.number(), counts.fma);
  EXPECT_EQ(hot->spilled.number() > 0, counts.spill_reloads > 0) << annotate_assembly(code, report);
  if (tile.spills) return;
  // A vector a column and a broadcast a row, which may be part of the multiply-adds.
  EXPECT_EQ(hot->loaded.number(), counts.loads + counts.broadcasts)
      << annotate_assembly(code, report);
  EXPECT_EQ(hot->stored.number(), counts.stores);
}

INSTANTIATE_TEST_SUITE_P(Tiles, HotBody,
                         ::testing::Values(Tile{kAvx2, 6, 16}, Tile{kAvx2, 4, 24},
                                           Tile{kAvx2, 8, 16, true}, Tile{kAvx512, 6, 64},
                                           Tile{kAvx512, 12, 32}, Tile{kAvx512, 8, 64, true}));

}  // namespace
}  // namespace espalier
