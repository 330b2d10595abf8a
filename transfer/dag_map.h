// DagMap: which stage, axis and read of one tensor program stands for which of another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/ir/dag.h"

namespace espalier {

// How alike two programs are, the closest first.
enum class MatchLevel : uint8_t {
  Exact,    // L0: equal up to names and the order in which things are written
  Extents,  // L1: equal up to extents
  Units,    // L2: and up to axes of one element, strides, padding and dilation
  Anchor,   // L3: the stage that does the work is alike, what is around it differs
  Role,     // L4: iterators of that stage play the same roles
};
std::string_view name_of(MatchLevel level);  // "L0 exact", "L1 extents", ...

// Axes that stand for one another, as numbered in their stages: spatial ones first, then the
// reduction's; outermost first. With several on a side they act as one loop when fused (h and w of
// a 1x1 convolution for the m of a matmul). One side empty: axes without a counterpart.
struct AxisGroup {
  std::vector<int> donor, target;
  friend bool operator==(const AxisGroup&, const AxisGroup&) = default;
};

struct StageMap {
  int donor = -1, target = -1;             // stages of the DAGs
  std::vector<AxisGroup> axes = {};        // every axis of both is in one group; none for inputs
  std::vector<std::pair<int, int>> reads;  // access numbers
  friend bool operator==(const StageMap&, const StageMap&) = default;
};

struct DagMap {
  MatchLevel level = MatchLevel::Exact;
  int donor_anchor = -1, target_anchor = -1;  // the stages that do most of the work
  std::vector<StageMap> stages;               // ascending by donor stage

  const StageMap* of_donor(int stage) const;
  const StageMap* of_target(int stage) const;
  friend bool operator==(const DagMap&, const DagMap&) = default;
};

DagMap identity_map(const ComputeDag& dag);
// From target to donor.
DagMap inverse(const DagMap& map);
// First one, then the other: `first.target` is the DAG of `second.donor`. Groups that share an axis
// become one, axes whose counterpart has none itself are left without.
DagMap compose(const DagMap& first, const DagMap& second);

// The stage that does most of the work: of those with reuse, else of the reductions, else of all,
// the one with the most iterations (the first of several). -1: nothing is computed.
int anchor_of(const ComputeDag& dag);

// The last stage of the element-wise chain behind `stage`, each the only consumer of the one before
// and of its shape; the stage itself if there is none.
int end_of_chain(const ComputeDag& dag, int stage);

int axis_count(const StageInfo& info);
const Axis& axis_of(const StageInfo& info, int number);

// A line a pair of stages: "conv -> product: h w ~ i, co ~ j, ci ~ k; no counterpart: n, kh, kw".
std::string to_string(const DagMap& map, const ComputeDag& donor, const ComputeDag& target);

}  // namespace espalier
