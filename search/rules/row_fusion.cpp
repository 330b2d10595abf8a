// Row fusion: a chain of stages over the same rows is computed row by row, in one pass over memory.
// Softmax and layer norm are this: the maximum, the exponentials, their sum and the quotient of one
// row while it is in the nearest cache.
#include <algorithm>
#include <optional>

#include "espalier/search/rules/nest_tools.h"
#include "espalier/search/rules/row_reduction.h"

namespace espalier {
namespace {

struct Group {
  std::vector<StageId> members;  // consumers before producers
  std::vector<int> shared;       // axes of the sink that are axes of every member
};

// Producers of `sink` that all their readers in the group see at the same rows.
class GroupFinder {
 public:
  GroupFinder(const PartialSketch& sketch, StageId sink)
      : sketch_(sketch), state_(sketch.state()), sink_(sink) {}

  Group find() {
    Group group;
    const int axes = state_.stage(sink_).spatial_axes;
    std::vector<bool> shared(static_cast<size_t>(axes), true);
    Map own;
    for (int a = 0; a < axes; ++a) own.push_back(a);
    maps_.assign(static_cast<size_t>(state_.dag().size()), std::nullopt);
    maps_[static_cast<size_t>(sink_)] = own;
    // Stage ids of the DAG are in topological order: consumers come first this way.
    for (StageId p = sink_ - 1; p >= 0; --p) {
      if (!may_join(p)) continue;
      Map map = map_of(p);
      std::vector<bool> with(shared);
      for (int a = 0; a < axes; ++a) {
        const bool there = std::find(map.begin(), map.end(), a) != map.end();
        with[static_cast<size_t>(a)] = shared[static_cast<size_t>(a)] && there;
      }
      // A member that shares no rows would have to be computed in one piece: let it stay outside.
      if (std::find(with.begin(), with.end(), true) == with.end()) continue;
      shared = with;
      maps_[static_cast<size_t>(p)] = std::move(map);
      group.members.push_back(p);
    }
    for (int a = 0; a < axes; ++a) {
      if (shared[static_cast<size_t>(a)]) group.shared.push_back(a);
    }
    return group;
  }

 private:
  using Map = std::vector<int>;  // by axis of the member: the sink's axis that it is, or -1

  bool may_join(StageId p) const {
    const StageInfo& info = state_.dag().stage(p);
    if (!info.is_compute() || info.is_output || sketch_.finished(p) ||
        state_.stage(p).attach == AttachKind::Inlined || info.anchor) {
      return false;
    }
    const std::vector<StageId> readers = readers_of(state_, p);
    return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](StageId c) {
      return c < state_.dag().size() && maps_[static_cast<size_t>(c)].has_value();
    });
  }

  Map map_of(StageId p) const {
    const int rank = state_.stage(p).spatial_axes;
    Map map(static_cast<size_t>(rank), -1);
    bool first = true;
    for (StageId c : readers_of(state_, p)) {
      const Map& reader = *maps_[static_cast<size_t>(c)];
      for (const StageRead& r : state_.stage(c).reads) {
        if (r.source != p) continue;
        for (int d = 0; d < rank; ++d) {
          const int axis = same_axis(r.linear[static_cast<size_t>(d)], reader);
          int& known = map[static_cast<size_t>(d)];
          known = first || known == axis ? axis : -1;
        }
        first = false;
      }
    }
    return map;
  }

  // The sink's axis if the index is exactly one axis of the reader that is one of the sink's.
  static int same_axis(const LinearIndex& index, const Map& reader) {
    if (!index.affine || index.offset != 0) return -1;
    int found = -1;
    for (size_t a = 0; a < index.coef.size(); ++a) {
      if (index.coef[a] == 0) continue;
      if (index.coef[a] != 1 || found >= 0 || a >= reader.size()) return -1;
      found = static_cast<int>(a);
    }
    return found < 0 ? -1 : reader[static_cast<size_t>(found)];
  }

  const PartialSketch& sketch_;
  const State& state_;
  const StageId sink_;
  std::vector<std::optional<Map>> maps_;  // of the group's stages, by DAG stage
};

// Whether the reduction reads neighbouring rows side by side, so that they can be its lanes.
bool has_rows_for_lanes(const State& state, StageId s) {
  const StageAccess access = analyze_stage(state, s);
  return std::all_of(access.reads.begin(), access.reads.end(), [&](const ReadAccess& r) {
    return access.spatial > 0 && r.contiguous(access.spatial - 1);
  });
}

class RowFusionRule final : public SketchRule {
 public:
  std::string_view name() const override { return "row fusion"; }

  double suits(const PartialSketch& sketch, StageId s) const override {
    if (sketch.task().dag.stage(sketch.stage(s).op).reduce() != nullptr) return 0;
    const Group group = GroupFinder(sketch, s).find();
    if (group.members.empty() || group.shared.empty()) return 0;
    const int last = sketch.stage(s).spatial_axes - 1;
    if (std::find(group.shared.begin(), group.shared.end(), last) != group.shared.end()) {
      // Lanes are rows then; reductions that cannot have them so are better off on their own.
      for (StageId m : group.members) {
        const bool reduces = sketch.task().dag.stage(sketch.stage(m).op).reduce() != nullptr;
        if (reduces && !has_rows_for_lanes(sketch.state(), m)) return 0.5;
      }
    }
    // A single member without rows of its own is the tiling rule's business.
    const bool same_shape =
        group.members.size() == 1 && reads_at_own_index(sketch.state(), s, group.members[0]);
    if (!same_shape) return 40;
    const StageId member = group.members[0];
    const bool tiles = sketch.task().dag.stage(sketch.stage(member).op).anchor;
    return tiles && lanes_suit_better(sketch.state(), member) ? 0.5 : 10;
  }

  void apply(PartialSketch& sketch, StageId s, Chooser& chooser) const override {
    const Group group = GroupFinder(sketch, s).find();
    const StageAccess access = analyze_stage(sketch.state(), s);
    auto is_shared = [&](int a) {
      return std::find(group.shared.begin(), group.shared.end(), a) != group.shared.end();
    };
    double work = work_of(sketch.state(), s);
    for (StageId m : group.members) work += work_of(sketch.state(), m);

    // Rows outside. When the last axis is a row axis too, its lanes are rows: a few vectors of them
    // go through all members together.
    std::vector<LoopId> outer, inner;
    for (int a : group.shared) outer.push_back(static_cast<LoopId>(a));
    std::vector<int> rest;
    for (int a = 0; a < access.spatial; ++a) {
      if (!is_shared(a)) rest.push_back(a);
    }
    const int last = access.spatial - 1;
    LoopId lanes = kNoLoop;
    if (is_shared(last) && access.extent[static_cast<size_t>(last)] > 1) {
      const int64_t extent = access.extent[static_cast<size_t>(last)];
      const int64_t start = extent < access.lanes
                                ? extent
                                : std::min<int64_t>(extent / access.lanes, 4) * access.lanes;
      const std::vector<LoopId> parts =
          sketch.split(s, static_cast<LoopId>(last),
                       {sketch.slot(name_slot(sketch, s, "points"), SlotKind::Vector, start)});
      outer.back() = parts[0];
      lanes = parts[1];
    }
    std::vector<LoopId> order = outer;
    for (int a : rest) order.push_back(static_cast<LoopId>(a));
    if (lanes != kNoLoop) order.push_back(lanes);
    sketch.reorder(s, order);
    parallelize(sketch, s, &outer, work, chooser);
    const LoopId row = outer.back();
    if (lanes != kNoLoop) {
      sketch.vectorize(s, lanes);
    } else {
      vectorize_points(sketch, s, rest);
    }
    for (StageId m : group.members) sketch.compute_at(m, s, row);
    if (!sketch.ok()) return;
    for (StageId m : group.members) {
      schedule_attached(sketch, m);
      sketch.finish(m);
    }
    sketch.finish(s);
  }
};

}  // namespace

std::shared_ptr<const SketchRule> make_row_fusion_rule() {
  return std::make_shared<RowFusionRule>();
}

}  // namespace espalier
