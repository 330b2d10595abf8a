#include "espalier/search/rules/nest_tools.h"

#include <algorithm>

#include "espalier/support/number.h"

namespace espalier {

std::vector<int> axes_of_loop(const Stage& stage, LoopId l) {
  const Loop& loop = stage.loops[static_cast<size_t>(l)];
  if (loop.origin < 0) {
    return l < stage.spatial_axes + stage.reduce_axes ? std::vector<int>{l} : std::vector<int>{};
  }
  const Relation& made_by = stage.relations[static_cast<size_t>(loop.origin)];
  if (!made_by.is_fuse) return axes_of_loop(stage, made_by.whole);
  std::vector<int> axes;
  for (LoopId part : made_by.parts) {
    for (int a : axes_of_loop(stage, part)) {
      if (std::find(axes.begin(), axes.end(), a) == axes.end()) axes.push_back(a);
    }
  }
  return axes;
}

std::vector<LoopId> loops_below(const Stage& stage, LoopId loop) {
  auto from = stage.order.begin();
  if (loop != kNoLoop) {
    from = std::find(stage.order.begin(), stage.order.end(), loop);
    if (from != stage.order.end()) ++from;
  }
  return {from, stage.order.end()};
}

LoopId innermost(const Stage& stage) { return stage.order.empty() ? kNoLoop : stage.order.back(); }

std::string name_slot(const PartialSketch& sketch, StageId s, std::string_view role) {
  return std::string(role) + " of " + sketch.state().stage_name(s);
}

void parallelize(PartialSketch& sketch, StageId s, std::vector<LoopId>* outer, double work_us,
                 Chooser& chooser) {
  const int threads = sketch.task().threads;
  if (threads <= 1 || outer->empty()) return;
  int preferred = 0;
  if (work_us >= kWorthWakingUs) {
    int64_t iterations = 1;
    while (preferred < static_cast<int>(outer->size()) && iterations < 8 * threads) {
      iterations *= sketch.extent(s, (*outer)[static_cast<size_t>(preferred++)]);
    }
    if (iterations < 2) preferred = 0;
  }
  const int taken =
      chooser.choose("parallel loops", static_cast<int>(outer->size()) + 1, preferred);
  if (taken == 0) return;
  const LoopId fused = sketch.fuse(s, {outer->begin(), outer->begin() + taken});
  sketch.parallel(s, fused);
  outer->erase(outer->begin(), outer->begin() + taken);
  outer->insert(outer->begin(), fused);
}

double work_of(const State& state, StageId s) {
  constexpr double kOperationsPerUs = 4e4, kBytesPerUs = 2e4;
  const StageAccess access = analyze_stage(state, s);
  const StageInfo& info = state.dag().stage(state.stage(s).op);
  const double operations = std::max(1.0, body_cost(info)) * static_cast<double>(access.points());
  double bytes = static_cast<double>(access.spatial_points()) * bytes_of(info.tensor->dtype);
  for (const ReadAccess& r : access.reads) {
    const DType type = state.dag().stage(r.producer).tensor->dtype;
    bytes += static_cast<double>(r.elements) * bytes_of(type);
  }
  return std::max(operations / kOperationsPerUs, bytes / kBytesPerUs);
}

void vectorize_points(PartialSketch& sketch, StageId s, std::vector<int> axes) {
  const StageAccess access = analyze_stage(sketch.state(), s);
  std::erase_if(axes, [&](int a) { return access.extent[static_cast<size_t>(a)] <= 1; });
  if (axes.empty()) return;
  // The last axis moves the write by one element, and neighbours that act as one lengthen it, as
  // long as no vector lies across two of its rows.
  std::vector<LoopId> run = {static_cast<LoopId>(axes.back())};
  for (size_t i = axes.size() - 1; i-- > 0;) {
    const bool whole = access.extent[static_cast<size_t>(run.front())] % access.lanes == 0;
    if (!whole || axes[i] + 1 != run.front() || !is_linear_pair(access, axes[i])) break;
    run.insert(run.begin(), static_cast<LoopId>(axes[i]));
  }
  LoopId inner = run.back();
  if (run.size() > 1) {
    // The fused loop stands where its first part stood: all parts must be neighbours there.
    const std::vector<LoopId>& order = sketch.stage(s).order;
    const auto at = std::find(order.begin(), order.end(), run.front());
    const bool adjacent = order.end() - at >= static_cast<std::ptrdiff_t>(run.size()) &&
                          std::equal(run.begin(), run.end(), at);
    if (adjacent) inner = sketch.fuse(s, run);
  }
  const int64_t extent = sketch.extent(s, inner);
  const int64_t vectors = body_cost(sketch.task().dag.stage(sketch.stage(s).op)) >= 10 ? 2 : 4;
  const int64_t start = extent <= access.lanes
                            ? extent
                            : std::min(round_up(extent, access.lanes), vectors * access.lanes);
  const std::vector<LoopId> parts = sketch.split(
      s, inner, {sketch.slot(name_slot(sketch, s, "points"), SlotKind::Vector, start)});
  if (innermost(sketch.stage(s)) != parts[1]) {
    std::vector<LoopId> order = sketch.stage(s).order;
    std::erase(order, parts[1]);
    order.push_back(parts[1]);
    sketch.reorder(s, order);
  }
  sketch.vectorize(s, parts[1]);
}

}  // namespace espalier
