#include "espalier/schedule/names.h"

#include <algorithm>
#include <array>

#include "espalier/support/check.h"

namespace espalier {
namespace {

// Beyond this length a fused loop is named by its number: names of fuses of splits of fuses would
// double with every round.
constexpr size_t kLongestFuse = 48;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Appends the name, with a suffix "_2", "_3", ... if it is there already.
void add_unique(std::vector<std::string>& names, const std::string& base) {
  std::string name = base;
  for (int n = 2; std::find(names.begin(), names.end(), name) != names.end(); ++n) {
    name = base + "_" + std::to_string(n);
  }
  names.push_back(std::move(name));
}

// What a step that adds a stage calls it; empty for steps that add none.
std::string made_name(const State& state, const Step& step, StageId made,
                      const std::vector<std::string>& names) {
  const auto from = [&](const char* suffix) {
    return names[static_cast<size_t>(stage_of(step))] + suffix;
  };
  if (std::holds_alternative<CacheWriteStep>(step)) return from(".acc");
  if (std::holds_alternative<RfactorStep>(step)) return from(".part");
  if (std::holds_alternative<CacheReadStep>(step) ||
      std::holds_alternative<PackConstantStep>(step)) {
    const int16_t producer = state.stage(made).reads.front().producer;
    return identifier_from(state.dag().stage(producer).name) + ".pack";
  }
  return {};
}

// Spatial axes of the definition, then those of its reduction.
std::vector<std::string> axis_names(const State& state, const Stage& stage) {
  std::vector<std::string> names;
  const StageInfo& info = state.dag().stage(stage.op);
  for (const Axis& a : info.axes) names.push_back(identifier_from(a.var.name()));
  for (const Axis& a : info.reduce_axes) names.push_back(identifier_from(a.var.name()));
  return names;
}

// A loop that no axis, split or fuse made: a dimension of the source of a packed copy.
std::string dim_name(const Stage& stage, LoopId l) {
  const auto found = std::find(stage.storage.begin(), stage.storage.end(), l);
  const auto i = static_cast<size_t>(found - stage.storage.begin());
  if (i >= stage.layout.size()) return "axis" + std::to_string(l);
  const std::string dim = "dim" + std::to_string(stage.layout[i].index);
  switch (stage.layout[i].kind) {
    case LayoutEntry::Kind::DimOuter: return dim + ".0";
    case LayoutEntry::Kind::DimInner: return dim + ".1";
    case LayoutEntry::Kind::Loop:
    case LayoutEntry::Kind::Dim: break;
  }
  return dim;
}

std::string fused_name(LoopId loop, const Relation& fuse, const std::vector<std::string>& names) {
  std::string name;
  for (LoopId part : fuse.parts) {
    if (!name.empty()) name += '_';
    name += names[static_cast<size_t>(part)];
    if (name.size() > kLongestFuse) return "fused" + std::to_string(loop);
  }
  return name;
}

StageId find(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? int16_t{-1} : static_cast<int16_t>(found - names.begin());
}

}  // namespace

bool is_reserved_word(std::string_view word) {
  // inf and nan are numbers to the lexer.
  static constexpr std::array<std::string_view, 5> kWords = {"by", "dim", "inf", "nan", "root"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

std::string identifier_from(std::string_view text) {
  std::string name;
  for (char c : text) name += is_letter(c) || is_digit(c) || c == '.' ? c : '_';
  if (name.empty() || !is_letter(name.front())) name.insert(0, "_");
  if (name.back() == '.') name += '_';
  if (is_reserved_word(name)) name += '_';
  return name;
}

std::vector<std::string> stage_names(const State& state) {
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(state.size()));
  for (const StageInfo& info : state.dag().stages()) add_unique(names, identifier_from(info.name));
  for (const Step& step : state.trace()) {
    if (static_cast<int>(names.size()) == state.size()) break;
    const std::string made = made_name(state, step, static_cast<StageId>(names.size()), names);
    if (!made.empty()) add_unique(names, made);
  }
  ESP_CHECK(static_cast<int>(names.size()) == state.size(), names.size(), " names for ",
            state.size(), " stages");
  return names;
}

std::vector<std::string> loop_names(const State& state, StageId stage_id) {
  const Stage& stage = state.stage(stage_id);
  const std::vector<std::string> axes = axis_names(state, stage);
  std::vector<std::string> names;
  names.reserve(stage.loops.size());
  for (LoopId l = 0; l < static_cast<LoopId>(stage.loops.size()); ++l) {
    const Loop& loop = stage.loops[static_cast<size_t>(l)];
    std::string name;
    if (loop.copy_of != kNoLoop) {
      name = names[static_cast<size_t>(loop.copy_of)] + (loop.reduce ? ".r" : ".w");
    } else if (loop.origin >= 0) {
      const Relation& relation = stage.relations[static_cast<size_t>(loop.origin)];
      name = relation.is_fuse ? fused_name(l, relation, names)
                              : names[static_cast<size_t>(relation.whole)] + "." +
                                    std::to_string(loop.origin_part);
    } else if (static_cast<size_t>(l) < axes.size()) {
      name = axes[static_cast<size_t>(l)];
    } else {
      name = dim_name(stage, l);
    }
    add_unique(names, name);
  }
  return names;
}

std::string join_names(const std::vector<std::string>& names, std::string_view none) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text.empty() ? std::string(none) : text;
}

std::string State::stage_name(StageId s) const {
  ESP_CHECK(s >= 0 && s < size(), "stage ", s, " of ", size());
  return stage_names(*this)[static_cast<size_t>(s)];
}

std::string State::loop_name(StageId s, LoopId l) const {
  ESP_CHECK(s >= 0 && s < size() && l >= 0 && static_cast<size_t>(l) < stage(s).loops.size(),
            "loop ", l, " of stage ", s);
  return loop_names(*this, s)[static_cast<size_t>(l)];
}

StageId State::find_stage(std::string_view name) const { return find(stage_names(*this), name); }

LoopId State::find_loop(StageId s, std::string_view name) const {
  if (s < 0 || s >= size()) return kNoLoop;
  return find(loop_names(*this, s), name);
}

}  // namespace espalier
