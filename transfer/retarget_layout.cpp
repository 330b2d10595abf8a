// Copies: cache_read and pack_constant, whose layouts name loops and dimensions.
#include <algorithm>

#include "espalier/search/rules/nest_tools.h"
#include "espalier/transfer/retargeter.h"

namespace espalier {
namespace {

bool uses(const LinearIndex& index, int axis) {
  return static_cast<size_t>(axis) < index.coef.size() &&
         index.coef[static_cast<size_t>(axis)] != 0;
}

}  // namespace

// The target's read that stands for the donor's: of the definition, or through what was inlined.
int Retargeter::find_read(StageId stage, const StageRead& read, StageId ts) const {
  const std::vector<StageRead>& reads = target_.stage(ts).reads;
  const StageMap* pair = map_.of_donor(donor_.stage(stage).op);
  if (read.path.size() == 1 && pair != nullptr && pair->target == target_.stage(ts).op) {
    for (const auto& [donor, target] : pair->reads) {
      if (donor != read.path[0]) continue;
      for (size_t i = 0; i < reads.size(); ++i) {
        const StageRead& r = reads[i];
        if (r.path.size() == 1 && r.path[0] == target && r.kind == StageRead::Kind::Element) {
          return static_cast<int>(i);
        }
      }
    }
  }
  if (read.producer < 0) return -1;
  const StageId producer = to(read.producer);
  for (size_t i = 0; i < reads.size(); ++i) {
    if (producer != kNoStage && reads[i].producer == producer &&
        reads[i].kind == StageRead::Kind::Element) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

// The target's dimensions that stand for each of the donor's, by the axes that index them.
std::vector<std::vector<int>> Retargeter::dims_of(const StageRead& from, const StageRead& to,
                                                  int op) const {
  std::vector<std::vector<int>> dims(from.linear.size());
  if (from.linear.size() == to.linear.size() && map_.level != MatchLevel::Role) {
    for (size_t d = 0; d < dims.size(); ++d) dims[d] = {static_cast<int>(d)};
    return dims;
  }
  const StageMap* pair = map_.of_donor(op);
  if (pair == nullptr) return dims;
  std::vector<bool> taken(to.linear.size(), false);
  for (size_t d = 0; d < dims.size(); ++d) {
    for (size_t e = 0; e < to.linear.size(); ++e) {
      const bool same = std::any_of(pair->axes.begin(), pair->axes.end(), [&](const AxisGroup& g) {
        return std::any_of(g.donor.begin(), g.donor.end(),
                           [&](int a) { return uses(from.linear[d], a); }) &&
               std::any_of(g.target.begin(), g.target.end(),
                           [&](int a) { return uses(to.linear[e], a); });
      });
      if (!same || taken[e]) continue;
      taken[e] = true;
      dims[d].push_back(static_cast<int>(e));
    }
  }
  return dims;
}

// Blocks are mostly as wide as a factor of a split along the same axis; they stay so.
Num Retargeter::block_of(const LayoutEntry& entry, const StageRead& from, int64_t target_extent) {
  const int64_t value = entry.block.value;
  const LinearIndex& index = from.linear[static_cast<size_t>(entry.index)];
  for (size_t i = known_factors_.size(); i-- > 0;) {
    const KnownFactor& known = known_factors_[i];
    if (known.value != value) continue;
    if (std::any_of(known.axes.begin(), known.axes.end(), [&](int a) { return uses(index, a); })) {
      return Num::of_slot(known.slot);
    }
  }
  SplitRefit refit;
  refit.donor_extent =
      donor_task_.dag.stage(from.producer).tensor->shape[static_cast<size_t>(entry.index)];
  refit.target_extent = target_extent;
  refit.factors.push_back({FactorUse::Tile, value, value, RefitRule::Kept});
  if (options_.refit) refit_split(&refit, std::nullopt, machines_);
  const Num number = factor_slot(
      {report_.donor_step, -1, refit.donor_extent, refit.target_extent, refit.factors[0]},
      SlotKind::Tile);
  // Block and place in the block are one number.
  std::vector<int> axes;
  for (size_t a = 0; a < index.coef.size(); ++a) {
    if (index.coef[a] != 0) axes.push_back(static_cast<int>(a));
  }
  known_factors_.push_back({-1, axes, value, number.slot});
  return number;
}

Retargeter::MappedLayout Retargeter::map_layout(StageId stage, const StageRead& from, StageId ts,
                                                const StageRead& to, LoopId at,
                                                const std::vector<LayoutEntry>& layout) {
  const std::vector<std::vector<int>> dims = dims_of(from, to, donor_.stage(stage).op);
  const std::vector<int64_t>& shape = target_.task().dag.stage(to.producer).tensor->shape;
  const Stage& reader = target_.stage(ts);
  const int spatial = reader.spatial_axes;
  MappedLayout mapped;
  std::vector<bool> dim_named(to.linear.size(), false);
  std::vector<LoopId> loops_named;
  auto push = [&](LayoutEntry entry, size_t origin) {
    mapped.entries.push_back(entry);
    mapped.origin.push_back(static_cast<int>(origin));
    if (entry.kind == LayoutEntry::Kind::Loop) {
      loops_named.push_back(entry.index);
    } else {
      dim_named[static_cast<size_t>(entry.index)] = true;
    }
  };
  bool names_loops = false, names_dims = false;
  for (size_t i = 0; i < layout.size(); ++i) {
    const LayoutEntry& entry = layout[i];
    if (entry.kind == LayoutEntry::Kind::Loop) {
      names_loops = true;
      for (LoopId t : leaves(ts, image(stage, entry.index))) {
        if (std::find(loops_named.begin(), loops_named.end(), t) == loops_named.end()) {
          push({LayoutEntry::Kind::Loop, t, {}}, i);
        }
      }
      continue;
    }
    names_dims = true;
    const std::vector<int>& to_dims = dims[static_cast<size_t>(entry.index)];
    if (to_dims.empty()) continue;
    if (entry.kind != LayoutEntry::Kind::DimInner) {
      // Of several dimensions that stand for one, the last is cut.
      for (size_t k = 0; k + 1 < to_dims.size(); ++k) {
        push({LayoutEntry::Kind::Dim, static_cast<int16_t>(to_dims[k]), {}}, i);
      }
    }
    LayoutEntry last{entry.kind, static_cast<int16_t>(to_dims.back()), {}};
    if (entry.is_block()) {
      last.block = block_of(entry, from, shape[static_cast<size_t>(to_dims.back())]);
    }
    push(last, i);
  }

  // What the donor does not have: dimensions and loops that tell elements apart here.
  auto insert_extra = [&](const LayoutEntry& entry, bool reduction) {
    size_t place = 0;
    if (reduction) {
      // Before the first one that the reduction moves.
      for (place = 0; place < mapped.entries.size(); ++place) {
        const LayoutEntry& e = mapped.entries[place];
        if (e.kind == LayoutEntry::Kind::Loop) {
          if (target_.loop(ts, e.index).reduce) break;
        } else {
          bool moved = false;
          for (int a = spatial; a < spatial + reader.reduce_axes; ++a) {
            moved = moved || uses(to.linear[static_cast<size_t>(e.index)], a);
          }
          if (moved) break;
        }
      }
      // Not behind the innermost, which is what lies side by side.
      if (place >= mapped.entries.size())
        place = mapped.entries.empty() ? 0 : mapped.entries.size() - 1;
    }
    mapped.entries.insert(mapped.entries.begin() + static_cast<std::ptrdiff_t>(place), entry);
    mapped.origin.insert(mapped.origin.begin() + static_cast<std::ptrdiff_t>(place), -1);
  };
  if (names_dims) {
    for (size_t e = dim_named.size(); e-- > 0;) {
      if (dim_named[e] || shape[e] == 1) continue;
      bool covered = false, reduction = false;
      for (size_t a = 0; a < to.linear[e].coef.size(); ++a) {
        if (to.linear[e].coef[a] == 0) continue;
        if (static_cast<int>(a) >= spatial) reduction = true;
        for (LoopId l : loops_named) {
          const std::vector<int> axes = axes_of_loop(reader, l);
          covered =
              covered || std::find(axes.begin(), axes.end(), static_cast<int>(a)) != axes.end();
        }
      }
      if (!covered) insert_extra({LayoutEntry::Kind::Dim, static_cast<int16_t>(e), {}}, reduction);
    }
  } else if (names_loops) {
    const std::vector<LoopId> below = loops_below(reader, at);
    for (size_t k = below.size(); k-- > 0;) {
      const LoopId l = below[k];
      if (std::find(loops_named.begin(), loops_named.end(), l) != loops_named.end()) continue;
      const std::vector<int> axes = axes_of_loop(reader, l);
      const bool used = std::any_of(to.linear.begin(), to.linear.end(), [&](const LinearIndex& x) {
        return std::any_of(axes.begin(), axes.end(), [&](int a) { return uses(x, a); });
      });
      if (used) insert_extra({LayoutEntry::Kind::Loop, l, {}}, target_.loop(ts, l).reduce);
    }
  }
  return mapped;
}

void Retargeter::copy(StageId stage, int16_t read, LoopId loop,
                      const std::vector<LayoutEntry>& layout, bool pack) {
  const StageId added = add_stage(kNoStage, {});
  const StageId ts = to(stage);
  if (ts == kNoStage) return drop(FateReason::NoStage);
  // The read is served by the copy now; where it came from is still there.
  const StageRead from = donor_.stage(stage).reads[static_cast<size_t>(read)];
  const int number = find_read(stage, from, ts);
  if (number < 0) return drop(FateReason::NoRead);
  const StageRead source = target_.stage(ts).reads[static_cast<size_t>(number)];
  std::vector<LoopId> points = {kNoLoop};
  if (loop != kNoLoop) points = attach_points(stage, loop);
  if (points.empty()) return drop(FateReason::NoLoop);

  const bool constant =
      source.producer >= 0 &&
      target_.task().dag.stage(source.producer).tensor->kind == TensorKind::Constant;
  const bool from_constant =
      donor_task_.dag.stage(from.producer).tensor->kind == TensorKind::Constant;
  const size_t reported = factors_.size(), known = known_factors_.size();
  for (LoopId l : points) {
    const MappedLayout mapped = map_layout(stage, from, ts, source, l, layout);
    if (mapped.entries.empty()) return drop(FateReason::NoLoop);
    const int16_t n = static_cast<int16_t>(number);
    const bool once = l == kNoLoop && constant && (pack || !from_constant);
    const bool applied = once ? attempt(PackConstantStep{ts, n, mapped.entries})
                              : attempt(CacheReadStep{ts, n, l, mapped.entries});
    if (!applied) {
      factors_.resize(reported);
      known_factors_.resize(known);
      continue;
    }
    if (l != points[0]) mend(FateReason::FurtherOut);
    if (pack && !once) mend(FateReason::PackedEachCall);
    if (!pack && once) mend(FateReason::PackedOnce);
    const StageId copied = static_cast<StageId>(target_.state().size() - 1);
    stage_to_[static_cast<size_t>(added)] = copied;
    Images& images = images_[static_cast<size_t>(added)];
    images.assign(donor_.stage(added).loops.size(), {});
    const std::vector<LoopId>& donor_loops = donor_.stage(added).order;
    const std::vector<LoopId>& target_loops = target_.stage(copied).order;
    for (size_t k = 0; k < mapped.origin.size(); ++k) {
      if (mapped.origin[k] < 0) continue;
      const LoopId d = donor_loops[static_cast<size_t>(mapped.origin[k])];
      images[static_cast<size_t>(d)].push_back(target_loops[k]);
    }
    if (pack && !once) {
      // It runs in every call now: with vectors, and threads where there are some.
      const std::vector<LoopId> loops = target_loops;
      attempt(AnnotateStep{copied, loops.back(), Annotation::Vectorize, {}});
      if (target_.task().threads > 1 && loops.size() > 1) {
        attempt(AnnotateStep{copied, loops.front(), Annotation::Parallel, {}});
      }
    }
    return;
  }
  drop_rejected();
}

void Retargeter::on(const CacheReadStep& step) {
  copy(step.stage, step.read, step.loop, step.layout, false);
}

void Retargeter::on(const PackConstantStep& step) {
  copy(step.stage, step.read, kNoLoop, step.layout, true);
}

}  // namespace espalier
