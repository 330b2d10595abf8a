// Points whose source lies side by side along another axis than the result: tiles of both axes, so
// that each cache line that is read or written is used up while it is near.
#include <algorithm>

#include "espalier/search/rules/nest_tools.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

struct Axes {
  int writes = -1;  // elements side by side in the result
  int reads = -1;   // and in a source; -1: the same, or none
  int read = -1;    // number of the read from that source
};

Axes find_axes(const StageAccess& access) {
  Axes axes;
  for (int a = access.spatial - 1; a >= 0 && axes.writes < 0; --a) {
    if (access.extent[static_cast<size_t>(a)] > 1) axes.writes = a;
  }
  if (axes.writes < 0) return axes;
  for (const ReadAccess& r : access.reads) {
    if (r.contiguous(axes.writes)) continue;
    for (int a = 0; a < access.spatial; ++a) {
      const size_t i = static_cast<size_t>(a);
      if (a != axes.writes && access.extent[i] > 1 && r.linear[i] && r.stride[i] == 1) {
        axes.reads = a;
        axes.read = r.number;
      }
    }
  }
  return axes;
}

class TransposeRule final : public SketchRule {
 public:
  std::string_view name() const override { return "transpose"; }

  double suits(const PartialSketch& sketch, StageId s) const override {
    if (sketch.task().dag.stage(sketch.stage(s).op).reduce() != nullptr) return 0;
    return find_axes(analyze_stage(sketch.state(), s)).reads >= 0 ? 15 : 0;
  }

  void apply(PartialSketch& sketch, StageId s, Chooser& chooser) const override {
    const StageAccess access = analyze_stage(sketch.state(), s);
    const double work = work_of(sketch.state(), s);
    const Axes axes = find_axes(access);
    // Lines of the source that are a multiple of a cache way apart push each other out: a tile then
    // reads no more of them at once than there are ways.
    constexpr int64_t kWays = 8;
    const int64_t way = sketch.task().target.l1_bytes / kWays;
    const int bytes = bytes_of(sketch.task().dag.stage(sketch.stage(s).op).tensor->dtype);
    int64_t source_stride = 1;
    for (const ReadAccess& r : access.reads) {
      if (r.uses[static_cast<size_t>(axes.reads)] && r.linear[static_cast<size_t>(axes.writes)]) {
        source_stride = std::max(source_stride, r.stride[static_cast<size_t>(axes.writes)]);
      }
    }
    const bool reads_collide = source_stride * bytes % way == 0;
    const bool writes_collide =
        access.write_stride[static_cast<size_t>(axes.reads)] * bytes % (way / 2) == 0;

    // A tile that is read along the source and written along the result, by shuffles in between.
    if (chooser.flag("tile in registers", true)) {
      apply_tile(sketch, s, access, axes, work, chooser);
      return;
    }
    // Lanes along the result gather what they read; along the source they scatter what they write.
    const bool scatter = chooser.flag("lanes along the source", false);
    const bool source_outside = chooser.flag("source outside", reads_collide && writes_collide);
    auto cut = [&](int axis, int64_t most, std::string_view role) {
      const int64_t start = std::min<int64_t>(access.extent[static_cast<size_t>(axis)], most);
      return sketch.split(s, static_cast<LoopId>(axis),
                          {sketch.slot(name_slot(sketch, s, role), SlotKind::Register, start)});
    };
    const int64_t lines = reads_collide ? std::min<int64_t>(access.lanes, kWays) : access.lanes;
    const std::vector<LoopId> writes = cut(axes.writes, lines, "result");
    const std::vector<LoopId> reads = cut(axes.reads, 16, "source");

    std::vector<LoopId> outer;
    for (int a = 0; a < access.spatial; ++a) {
      if (a != axes.writes && a != axes.reads) outer.push_back(static_cast<LoopId>(a));
    }
    outer.push_back(source_outside ? reads[0] : writes[0]);
    outer.push_back(source_outside ? writes[0] : reads[0]);
    std::vector<LoopId> order = outer;
    order.push_back(scatter ? writes[1] : reads[1]);
    order.push_back(scatter ? reads[1] : writes[1]);
    sketch.reorder(s, order);
    parallelize(sketch, s, &outer, work, chooser);
    if (chooser.flag("unroll the tile", false)) sketch.unroll(s, order[order.size() - 2]);
    sketch.vectorize(s, order.back());
    sketch.finish(s);
  }

 private:
  static void apply_tile(PartialSketch& sketch, StageId s, const StageAccess& access,
                         const Axes& axes, double work, Chooser& chooser) {
    const int64_t most = std::min<int64_t>(access.lanes, sketch.task().target.vector_registers / 2);
    auto cut = [&](int axis, std::string_view role) {
      const int64_t start = std::min<int64_t>(access.extent[static_cast<size_t>(axis)], most);
      return sketch.split(s, static_cast<LoopId>(axis),
                          {sketch.slot(name_slot(sketch, s, role), SlotKind::Register, start)});
    };
    const std::vector<LoopId> writes = cut(axes.writes, "result tile");
    const std::vector<LoopId> reads = cut(axes.reads, "source tile");
    std::vector<LoopId> outer;
    for (int a = 0; a < access.spatial; ++a) {
      if (a != axes.writes && a != axes.reads) outer.push_back(static_cast<LoopId>(a));
    }
    const bool source_outside = chooser.flag("source outside", true);
    outer.push_back(source_outside ? reads[0] : writes[0]);
    outer.push_back(source_outside ? writes[0] : reads[0]);
    std::vector<LoopId> order = outer;
    order.push_back(reads[1]);
    order.push_back(writes[1]);
    sketch.reorder(s, order);
    parallelize(sketch, s, &outer, work, chooser);
    const StageId tile = sketch.cache_read(
        s, axes.read, outer.back(),
        {{LayoutEntry::Kind::Loop, writes[1], {}}, {LayoutEntry::Kind::Loop, reads[1], {}}});
    if (!sketch.ok()) return;
    const std::vector<LoopId> loops = sketch.stage(tile).order;
    sketch.unroll(tile, loops[0]);
    sketch.vectorize(tile, loops[1]);
    sketch.registers(tile);
    sketch.unroll(s, reads[1]);
    sketch.vectorize(s, writes[1]);
    sketch.finish(s);
  }
};

}  // namespace

std::shared_ptr<const SketchRule> make_transpose_rule() {
  return std::make_shared<TransposeRule>();
}

}  // namespace espalier
