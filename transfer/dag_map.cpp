#include "espalier/transfer/dag_map.h"

#include <algorithm>

#include "espalier/support/check.h"

namespace espalier {
namespace {

int64_t iterations(const StageInfo& info) {
  int64_t product = 1;
  for (int a = 0; a < axis_count(info); ++a)
    product *= std::max<int64_t>(axis_of(info, a).extent, 1);
  return product;
}

bool intersects(const std::vector<int>& a, const std::vector<int>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](int x) { return std::find(b.begin(), b.end(), x) != b.end(); });
}

// Keeps the order of both and lists nothing twice.
void append_new(const std::vector<int>& more, std::vector<int>* all) {
  for (int x : more) {
    if (std::find(all->begin(), all->end(), x) == all->end()) all->push_back(x);
  }
}

std::vector<AxisGroup> compose_axes(const std::vector<AxisGroup>& first,
                                    const std::vector<AxisGroup>& second) {
  // Groups that are linked by axes of the DAG in the middle become one.
  struct Component {
    std::vector<int> donor, middle, target;
  };
  std::vector<Component> components;
  for (const AxisGroup& g : first) components.push_back({g.donor, g.target, {}});
  for (const AxisGroup& g : second) components.push_back({{}, g.donor, g.target});
  for (size_t i = 0; i < components.size(); ++i) {
    for (size_t j = i + 1; j < components.size();) {
      if (!intersects(components[i].middle, components[j].middle)) {
        ++j;
        continue;
      }
      append_new(components[j].donor, &components[i].donor);
      append_new(components[j].middle, &components[i].middle);
      append_new(components[j].target, &components[i].target);
      components.erase(components.begin() + static_cast<std::ptrdiff_t>(j));
      j = i + 1;
    }
  }
  std::vector<AxisGroup> groups;
  for (Component& c : components) {
    if (c.donor.empty() && c.target.empty()) continue;
    groups.push_back({std::move(c.donor), std::move(c.target)});
  }
  return groups;
}

std::string names(const StageInfo& info, const std::vector<int>& axes) {
  std::string text;
  for (int a : axes) text += (text.empty() ? "" : " ") + axis_of(info, a).var.name();
  return text;
}

}  // namespace

std::string_view name_of(MatchLevel level) {
  switch (level) {
    case MatchLevel::Exact: return "L0 exact";
    case MatchLevel::Extents: return "L1 extents";
    case MatchLevel::Units: return "L2 units";
    case MatchLevel::Anchor: return "L3 anchor";
    case MatchLevel::Role: return "L4 role";
  }
  ESP_UNREACHABLE("match level ", static_cast<int>(level));
}

const StageMap* DagMap::of_donor(int stage) const {
  for (const StageMap& s : stages) {
    if (s.donor == stage) return &s;
  }
  return nullptr;
}

const StageMap* DagMap::of_target(int stage) const {
  for (const StageMap& s : stages) {
    if (s.target == stage) return &s;
  }
  return nullptr;
}

int axis_count(const StageInfo& info) {
  return static_cast<int>(info.axes.size() + info.reduce_axes.size());
}

const Axis& axis_of(const StageInfo& info, int number) {
  const size_t n = static_cast<size_t>(number);
  return n < info.axes.size() ? info.axes[n] : info.reduce_axes[n - info.axes.size()];
}

DagMap identity_map(const ComputeDag& dag) {
  DagMap map;
  map.donor_anchor = map.target_anchor = anchor_of(dag);
  for (int s = 0; s < dag.size(); ++s) {
    StageMap stage{s, s, {}, {}};
    for (int a = 0; a < axis_count(dag.stage(s)); ++a) stage.axes.push_back({{a}, {a}});
    for (int r = 0; r < static_cast<int>(dag.stage(s).accesses.size()); ++r) {
      stage.reads.push_back({r, r});
    }
    map.stages.push_back(std::move(stage));
  }
  return map;
}

DagMap inverse(const DagMap& map) {
  DagMap result{map.level, map.target_anchor, map.donor_anchor, {}};
  for (const StageMap& s : map.stages) {
    StageMap back{s.target, s.donor, {}, {}};
    for (const AxisGroup& g : s.axes) back.axes.push_back({g.target, g.donor});
    for (const auto& [donor, target] : s.reads) back.reads.push_back({target, donor});
    result.stages.push_back(std::move(back));
  }
  std::sort(result.stages.begin(), result.stages.end(),
            [](const StageMap& a, const StageMap& b) { return a.donor < b.donor; });
  return result;
}

DagMap compose(const DagMap& first, const DagMap& second) {
  DagMap result{std::max(first.level, second.level), first.donor_anchor, second.target_anchor, {}};
  for (const StageMap& a : first.stages) {
    const StageMap* b = second.of_donor(a.target);
    if (b == nullptr) continue;
    StageMap stage{a.donor, b->target, compose_axes(a.axes, b->axes), {}};
    for (const auto& [donor, middle] : a.reads) {
      for (const auto& [from, target] : b->reads) {
        if (from == middle) stage.reads.push_back({donor, target});
      }
    }
    result.stages.push_back(std::move(stage));
  }
  return result;
}

int anchor_of(const ComputeDag& dag) {
  int best = -1;
  std::pair<int, int64_t> best_rank;
  for (int s = 0; s < dag.size(); ++s) {
    const StageInfo& info = dag.stage(s);
    if (!info.is_compute()) continue;
    const std::pair rank(info.anchor ? 2 : info.reduce() != nullptr ? 1 : 0, iterations(info));
    if (best < 0 || rank > best_rank) {
      best = s;
      best_rank = rank;
    }
  }
  return best;
}

int end_of_chain(const ComputeDag& dag, int stage) {
  for (int s = stage;;) {
    const StageInfo& info = dag.stage(s);
    if (info.is_output || info.consumers.size() != 1) return s;
    const int next = info.consumers[0];
    const StageInfo& reader = dag.stage(next);
    if (reader.reduce() != nullptr || reader.tensor->shape != info.tensor->shape) return s;
    if (!reader.elementwise) return s;
    s = next;
  }
}

std::string to_string(const DagMap& map, const ComputeDag& donor, const ComputeDag& target) {
  std::string text;
  for (const StageMap& s : map.stages) {
    const StageInfo& from = donor.stage(s.donor);
    const StageInfo& to = target.stage(s.target);
    std::string pairs, alone;
    for (const AxisGroup& g : s.axes) {
      if (!g.donor.empty() && !g.target.empty()) {
        pairs += (pairs.empty() ? ": " : ", ") + names(from, g.donor) + " ~ " + names(to, g.target);
      } else {
        alone += (alone.empty() ? "" : ", ") + (g.target.empty()
                                                    ? names(from, g.donor) + " of " + from.name
                                                    : names(to, g.target) + " of " + to.name);
      }
    }
    text += from.name + " -> " + to.name + pairs;
    if (!alone.empty()) text += "; no counterpart: " + alone;
    text += "\n";
  }
  return text;
}

}  // namespace espalier
