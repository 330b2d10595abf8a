// A sketch rule of one's own: it cuts the rows of an elementwise stage in blocks of a size that the
// search chooses, and vectorizes along the last axis.
#include <cstdio>
#include <cstring>
#include <iostream>

#include "espalier/espalier.h"

using namespace espalier;

namespace {

class RowBlocks final : public SketchRule {
 public:
  std::string_view name() const override { return "row_blocks"; }

  // 0: not at all; where several rules suit, the highest is preferred, and those near are variants.
  double suits(const PartialSketch& sketch, StageId stage) const override {
    const StageInfo& info = sketch.task().dag.stage(stage);
    return info.elementwise && info.axes.size() == 2 ? 100 : 0;
  }

  // Each step is tried on the spot: what is rejected ends the sketch, and the search goes on.
  void apply(PartialSketch& sketch, StageId stage, Chooser& chooser) const override {
    const LoopId rows = 0, columns = 1;
    const Num block = sketch.slot("row block", SlotKind::Tile, /*start=*/4);
    const std::vector<LoopId> cut = sketch.split(stage, rows, {block});
    const std::vector<LoopId> lanes =
        sketch.split(stage, columns, {sketch.slot("lanes", SlotKind::Vector, 8)});
    // A decision that the search may take otherwise.
    if (chooser.flag("columns outside", false)) {
      sketch.reorder(stage, {lanes[0], cut[0], cut[1], lanes[1]});
    } else {
      sketch.reorder(stage, {cut[0], lanes[0], cut[1], lanes[1]});
    }
    sketch.vectorize(stage, lanes[1]);
    sketch.finish(stage);
  }
};

Result<void> run(const std::string& own_program) {
  Task task{load_workload("elementwise:op=relu,shape=64x96").value(), host_target(), 1, ""};
  MeasureOptions measuring;
  measuring.worker = own_program;
  ESP_TRY(const auto measurer, WorkerMeasurer::make(task, measuring, default_candidate));

  TuneOptions options;
  options.trials = 24;
  options.custom_rules = {std::make_shared<RowBlocks>()};
  ESP_TRY(const TuneReport report, tune(task, options, *measurer));
  std::printf("%d candidates, best %.2f us by\n%s", report.trials, report.best_us,
              report.record.trace.c_str());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "worker") == 0) return run_worker(0, 1);
  const Result<void> done = run(argv[0]);
  if (!done.ok()) std::cerr << to_string(done.error()) << "\n";
  return done.ok() ? 0 : 1;
}
