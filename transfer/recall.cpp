#include "espalier/transfer/recall.h"

#include <algorithm>
#include <map>
#include <string>

#include "espalier/search/slots.h"

namespace espalier {
namespace {

constexpr int kMaxSketches = 400;

// Without its numbers.
Step form_of(Step step) {
  for_each_num(step, [](Num& n) { n = {}; });
  return step;
}

Trace forms_of(const Trace& trace) {
  Trace forms;
  forms.reserve(trace.size());
  for (const Step& s : trace) forms.push_back(form_of(s));
  return forms;
}

size_t common_prefix(const Trace& a, const Trace& b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  return n;
}

// The numbers of the trace where the sketch, which has its form, has slots; numbers that are
// written down must be the same.
std::optional<std::vector<int32_t>> read_decisions(const Sketch& sketch, const Trace& trace) {
  std::vector<int32_t> decisions(sketch.slots.size(), -1);
  for (size_t i = 0; i < trace.size(); ++i) {
    std::vector<int64_t> values;
    for_each_num(trace[i], [&](const Num& n) { values.push_back(n.value); });
    size_t k = 0;
    bool same = true;
    for_each_num(sketch.steps[i], [&](const Num& n) {
      const int64_t value = values[k++];
      if (n.slot < 0) {
        same = same && n.value == value;
        return;
      }
      int32_t& decision = decisions[static_cast<size_t>(n.slot)];
      same = same && (decision < 0 || decision == value);
      decision = static_cast<int32_t>(value);
    });
    if (!same) return std::nullopt;
  }
  for (int32_t& d : decisions) d = std::max(d, 1);
  return decisions;
}

// "rows of conv" in words of the donor: "rows of product".
std::string translate(const std::string& text,
                      const std::vector<std::pair<std::string, std::string>>& names) {
  const size_t space = text.rfind(' ');
  if (space == std::string::npos) return text;
  for (const auto& [from, to] : names) {
    if (text.compare(space + 1, std::string::npos, from) == 0)
      return text.substr(0, space + 1) + to;
  }
  return text;
}

// A split whose inner extents are slots, where it stands in a sketch.
struct SlotSplit {
  int64_t extent = 1;
  std::vector<int> slots;  // -1: a number that is written down
};

// All of them, with the extents that the decisions give. Empty if the sketch does not replay.
std::vector<SlotSplit> slot_splits(const Task& task, const Sketch& sketch,
                                   const std::vector<int32_t>& decisions) {
  std::vector<SlotSplit> splits;
  State state = State::initial(task);
  for (const Step& step : sketch.steps) {
    if (const auto* split = std::get_if<SplitStep>(&step)) {
      SlotSplit s;
      s.extent = state.stage(split->stage).loops[static_cast<size_t>(split->loop)].extent;
      for (const Num& n : split->factors) s.slots.push_back(n.slot);
      splits.push_back(std::move(s));
    }
    if (state.apply(step, decisions)) return {};
  }
  return splits;
}

FactorUse use_of(SlotKind kind) {
  return kind == SlotKind::Vector     ? FactorUse::Vector
         : kind == SlotKind::Register ? FactorUse::Register
                                      : FactorUse::Tile;
}

bool names_role(const std::string& name, std::string_view role) {
  return name.starts_with(role) && name.size() > role.size() && name[role.size()] == ' ';
}

}  // namespace

std::optional<Recalled> recall(const SketchSpace& space, const Trace& trace) {
  const Trace wanted = forms_of(trace);
  int sketches = 0;
  auto rate = [&](const StructurePtr& s) {
    ++sketches;
    return s ? common_prefix(forms_of(s->sketch->steps), wanted) : 0;
  };
  StructurePtr best = space.preferred();
  size_t score = rate(best);
  auto found = [&] {
    return score == wanted.size() && best->sketch->steps.size() == wanted.size();
  };
  // One decision at a time: the earliest step that differs tells which one was taken otherwise.
  for (bool better = true; better && !found();) {
    better = false;
    const StructurePtr from = best;  // kept while its choices are looked at
    for (size_t i = 0; i < from->choices.size() && !better && sketches < kMaxSketches; ++i) {
      const StructureChoice& choice = from->choices[i];
      for (int o = 0; o < choice.options && !better; ++o) {
        if (o == choice.taken) continue;
        std::vector<int> script = script_of(from->choices);
        script.resize(i + 1);
        script.back() = o;
        // The decisions behind it as they were, or as preferred.
        const std::vector<StructureChoice> rest(
            from->choices.begin() + static_cast<std::ptrdiff_t>(i) + 1, from->choices.end());
        for (const auto& hints :
             {std::span<const StructureChoice>(rest), std::span<const StructureChoice>()}) {
          const StructurePtr other = space.along(script, hints);
          const size_t rated = rate(other);
          const bool whole =
              other && rated == wanted.size() && other->sketch->steps.size() == rated;
          if (rated > score || whole) {
            best = other;
            score = rated;
            better = true;
            break;
          }
        }
      }
    }
  }
  if (!found()) return std::nullopt;
  std::optional<std::vector<int32_t>> decisions = read_decisions(*best->sketch, trace);
  if (!decisions) return std::nullopt;
  return Recalled{best, *std::move(decisions)};
}

std::optional<Followed> follow(const Recalled& recalled, const Task& donor, const DagMap& map,
                               const SketchSpace& target) {
  const Task& task = target.task();
  std::vector<std::pair<std::string, std::string>> to_target, to_donor;
  for (const StageMap& s : map.stages) {
    const std::string &from = donor.dag.stage(s.donor).name, &to = task.dag.stage(s.target).name;
    to_target.push_back({from, to});
    to_donor.push_back({to, from});
  }
  std::vector<StructureChoice> hints = recalled.structure->choices;
  for (StructureChoice& c : hints) c.what = translate(c.what, to_target);
  const StructurePtr structure = target.along({}, hints);
  if (!structure) return std::nullopt;

  Followed result;
  result.decisions = static_cast<int>(structure->choices.size());
  for (const StructureChoice& c : structure->choices) {
    result.decisions_kept += std::any_of(hints.begin(), hints.end(), [&](const StructureChoice& h) {
      return h.what == c.what && h.options == c.options && h.taken == c.taken;
    });
  }

  // The donor's number and split for each slot of the target that has the same name.
  const std::vector<std::string>& donor_names = recalled.structure->slot_names;
  auto donor_slot = [&](int slot) {
    const std::string name = translate(structure->slot_names[static_cast<size_t>(slot)], to_donor);
    const auto at = std::find(donor_names.begin(), donor_names.end(), name);
    return at == donor_names.end() ? -1 : static_cast<int>(at - donor_names.begin());
  };
  const std::vector<SlotSplit> donor_splits =
      slot_splits(donor, *recalled.structure->sketch, recalled.decisions);
  std::map<int, int64_t> donor_extents;  // by slot
  for (const SlotSplit& s : donor_splits) {
    for (int slot : s.slots) donor_extents[slot] = s.extent;
  }
  const std::vector<SlotSplit> splits = slot_splits(task, *structure->sketch, structure->start);

  const int donor_bytes = bytes_of(donor.dag.stage(map.donor_anchor).tensor->dtype);
  const int target_bytes = bytes_of(task.dag.stage(map.target_anchor).tensor->dtype);
  const RefitMachines machines{donor.target, task.target,   donor_bytes,
                               target_bytes, donor.threads, task.threads};
  // The register tile is refitted as a whole.
  TileSize size;
  int64_t row_extent = 1, column_extent = 1;
  bool has_columns = false;
  for (const SlotSplit& s : splits) {
    for (int slot : s.slots) {
      const int from = slot < 0 ? -1 : donor_slot(slot);
      if (from < 0) continue;
      const std::string& name = structure->slot_names[static_cast<size_t>(slot)];
      const int64_t value = recalled.decisions[static_cast<size_t>(from)];
      if (names_role(name, "rows")) {
        size.rows = value;
        row_extent = s.extent;
      } else if (names_role(name, "columns")) {
        size.columns = value;
        column_extent = s.extent;
        has_columns = true;
      }
    }
  }
  std::optional<TileSize> tile;
  if (has_columns) tile = refit_tile(size, row_extent, column_extent, false, machines);

  result.candidate = structure->candidate();
  result.script = script_of(structure->choices);
  for (const SlotSplit& s : splits) {
    SplitRefit refit;
    refit.target_extent = s.extent;
    bool any = false;
    for (int slot : s.slots) {
      const int from = slot < 0 ? -1 : donor_slot(slot);
      RefitFactor f;
      f.use = slot < 0 ? FactorUse::Tile
                       : use_of(structure->sketch->slots[static_cast<size_t>(slot)].kind);
      f.donor = slot < 0 ? 1 : result.candidate.decisions[static_cast<size_t>(slot)];
      if (from >= 0) {
        f.donor = recalled.decisions[static_cast<size_t>(from)];
        refit.donor_extent = donor_extents[from];
        any = true;
      }
      refit.factors.push_back(f);
    }
    if (!any) continue;
    refit_split(&refit, tile, machines);
    for (size_t i = 0; i < s.slots.size(); ++i) {
      if (s.slots[i] < 0 || donor_slot(s.slots[i]) < 0) continue;
      result.candidate.decisions[static_cast<size_t>(s.slots[i])] =
          static_cast<int32_t>(refit.factors[i].target);
      result.factors.push_back(
          {-1, s.slots[i], refit.donor_extent, refit.target_extent, refit.factors[i]});
    }
  }
  if (is_legal(task, result.candidate)) return result;
  // Numbers that do not go together here: those that the rules start from.
  result.candidate = structure->candidate();
  result.factors.clear();
  if (is_legal(task, result.candidate)) return result;
  return std::nullopt;
}

}  // namespace espalier
