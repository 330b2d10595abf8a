#include "espalier/transfer/match.h"

#include <algorithm>

#include "espalier/support/hash.h"
#include "espalier/transfer/roles.h"
#include "espalier/transfer/unify.h"

namespace espalier {
namespace {

// Element-wise stages of equal shape behind the anchors have the anchors' spatial axes.
StageMap follow(const StageMap& anchor, const ComputeDag& donor, const ComputeDag& target, int d,
                int t) {
  StageMap map{d, t, {}, {}};
  const int n = static_cast<int>(donor.stage(d).axes.size());
  const int m = static_cast<int>(target.stage(t).axes.size());
  for (const AxisGroup& g : anchor.axes) {
    const bool spatial = g.donor.empty() ? g.target[0] < m : g.donor[0] < n;
    if (spatial) map.axes.push_back(g);
  }
  return map;
}

// What the anchors' reads come from, where both are inputs or both are computed on as many axes in
// the same order.
void add_sources(const StageMap& anchor, const ComputeDag& donor, const ComputeDag& target,
                 DagMap* map) {
  for (const auto& [i, j] : anchor.reads) {
    const Access& p = donor.stage(anchor.donor).accesses[static_cast<size_t>(i)];
    const Access& q = target.stage(anchor.target).accesses[static_cast<size_t>(j)];
    if (map->of_donor(p.producer) != nullptr || map->of_target(q.producer) != nullptr) continue;
    const StageInfo &from = donor.stage(p.producer), &to = target.stage(q.producer);
    if (from.tensor->kind != to.tensor->kind) continue;
    StageMap stage{p.producer, q.producer, {}, {}};
    if (from.is_compute()) {
      if (from.axes.size() != to.axes.size() || from.reduce_axes.size() != to.reduce_axes.size()) {
        continue;
      }
      for (int a = 0; a < axis_count(from); ++a) stage.axes.push_back({{a}, {a}});
      for (size_t r = 0; r < std::min(from.accesses.size(), to.accesses.size()); ++r) {
        stage.reads.push_back({static_cast<int>(r), static_cast<int>(r)});
      }
    }
    map->stages.push_back(std::move(stage));
  }
}

DagMap around_anchor(StageMap anchor, MatchLevel level, const ComputeDag& donor,
                     const ComputeDag& target) {
  DagMap map;
  map.level = level;
  map.donor_anchor = anchor.donor;
  map.target_anchor = anchor.target;
  const int end_d = end_of_chain(donor, anchor.donor), end_t = end_of_chain(target, anchor.target);
  if (end_d != anchor.donor && end_t != anchor.target) {
    map.stages.push_back(follow(anchor, donor, target, end_d, end_t));
  }
  const StageMap centre = anchor;
  map.stages.push_back(std::move(anchor));
  add_sources(centre, donor, target, &map);
  std::sort(map.stages.begin(), map.stages.end(),
            [](const StageMap& a, const StageMap& b) { return a.donor < b.donor; });
  return map;
}

}  // namespace

Match match(const ComputeDag& donor, const ComputeDag& target) {
  if (donor.hash() == target.hash()) return identity_map(donor);
  const int d = anchor_of(donor), t = anchor_of(target);
  if (d < 0 || t < 0) return Mismatch{MismatchCode::NothingComputed, -1, -1, 0, 0};
  Mismatch reason;
  for (const UnifyOptions& options : {UnifyOptions{MatchLevel::Exact, false, -1, -1},
                                      UnifyOptions{MatchLevel::Extents, false, -1, -1},
                                      UnifyOptions{MatchLevel::Units, false, -1, -1},
                                      UnifyOptions{MatchLevel::Units, true, -1, -1}}) {
    if (donor.size() != target.size()) break;
    if (std::optional<DagMap> map = unify(donor, target, options, &reason)) return *std::move(map);
  }
  for (const UnifyOptions& options : {UnifyOptions{MatchLevel::Extents, false, d, t},
                                      UnifyOptions{MatchLevel::Units, false, d, t},
                                      UnifyOptions{MatchLevel::Units, true, d, t}}) {
    std::optional<DagMap> map = unify(donor, target, options, &reason);
    if (!map) continue;
    return around_anchor(*map->of_donor(d), MatchLevel::Anchor, donor, target);
  }
  const ReduceNode *a = donor.stage(d).reduce(), *b = target.stage(t).reduce();
  if ((a == nullptr) != (b == nullptr)) return Mismatch{MismatchCode::Reduction, d, t, 0, 0};
  if (a != nullptr && a->combiner.reorderable != b->combiner.reorderable) {
    return Mismatch{MismatchCode::FixedOrder, d, t, 0, 0};
  }
  std::optional<StageMap> roles = match_roles(donor, d, target, t, &reason);
  if (!roles) return reason;
  return around_anchor(*std::move(roles), MatchLevel::Role, donor, target);
}

uint64_t family_of(const ComputeDag& dag) {
  const int anchor = anchor_of(dag);
  if (anchor < 0) return 0;
  const ReduceNode* reduce = dag.stage(anchor).reduce();
  if (reduce == nullptr) return 1;
  return hash_combine(2, reduce->combiner.reorderable ? 1 : 0);
}

}  // namespace espalier
