#include "espalier/schedule/text.h"

#include "espalier/schedule/internal/step_form.h"
#include "espalier/schedule/names.h"

namespace espalier {
namespace {

class Writer {
 public:
  Writer(const State& state, std::vector<std::string> made)
      : state_(state), stages_(stage_names(state)), made_(std::move(made)) {}

  std::string line(const Step& step) {
    stage_name(stage_of(step));
    out_ += ": ";
    const auto* annotate = std::get_if<AnnotateStep>(&step);
    out_ += annotate ? name_of(annotate->annotation) : name_of(step);
    std::visit([&](const auto& s) { form(*this, s); }, step);
    return std::move(out_);
  }

  void word(std::string_view w) {
    out_ += ' ';
    out_ += w;
  }
  bool has(std::string_view w, bool present) {
    if (present) word(w);
    return present;
  }
  void stage(StageId s) {
    out_ += ' ';
    stage_name(s);
  }
  void loop(StageId of, LoopId l) {
    out_ += ' ';
    loop_name(of, l);
  }
  void loops(StageId of, const std::vector<LoopId>& ls) {
    for (LoopId l : ls) loop(of, l);
  }
  void num(const Num& n, int64_t /*low*/ = 0, int64_t /*high*/ = 0) {
    word(n.slot < 0 ? std::to_string(n.value) : "d" + std::to_string(n.slot));
  }
  void nums(const std::vector<Num>& ns, int64_t /*low*/, int64_t /*high*/) {
    for (const Num& n : ns) num(n);
  }
  void index(int16_t i) { word(std::to_string(i)); }
  void layout(StageId of, const std::vector<LayoutEntry>& entries) {
    word("layout [");
    std::string_view separator;
    for (const LayoutEntry& e : entries) {
      out_ += separator;
      separator = ", ";
      if (e.kind == LayoutEntry::Kind::Loop) {
        loop_name(of, e.index);
        continue;
      }
      out_ += "dim " + std::to_string(e.index);
      if (!e.is_block()) continue;
      word(e.kind == LayoutEntry::Kind::DimOuter ? "outer" : "inner");
      num(e.block);
    }
    out_ += ']';
  }
  void made() {
    if (made_.empty()) return;
    word("->");
    for (const std::string& name : made_) word(name);
  }

 private:
  void unknown(int16_t id) { out_ += "?" + std::to_string(id); }
  void stage_name(StageId s) {
    s >= 0 && s < state_.size() ? void(out_ += stages_[static_cast<size_t>(s)]) : unknown(s);
  }
  void loop_name(StageId of, LoopId l) {
    if (of != loops_of_ && of >= 0 && of < state_.size()) {
      loops_ = loop_names(state_, of);
      loops_of_ = of;
    }
    const bool known = of == loops_of_ && l >= 0 && static_cast<size_t>(l) < loops_.size();
    known ? void(out_ += loops_[static_cast<size_t>(l)]) : unknown(l);
  }

  const State& state_;
  std::vector<std::string> stages_;
  std::vector<std::string> made_;
  StageId loops_of_ = kNoStage;
  std::vector<std::string> loops_;
  std::string out_;
};

// One line a step, replaying to know the names. They do not depend on numbers, so the smallest ones
// stand in for decisions. Lines behind a step that does not apply name what they can.
std::string write(const Trace& steps, std::vector<int32_t> decisions, const Task& task) {
  for (const Step& step : steps) {
    for_each_num(step, [&](const Num& n) {
      if (n.slot >= static_cast<int>(decisions.size())) {
        decisions.resize(static_cast<size_t>(n.slot) + 1, 1);
      }
    });
  }
  State state = State::initial(task);
  std::string text;
  for (const Step& step : steps) {
    const State before = state;
    const bool applied = !state.apply(step, decisions);
    Writer writer(before, applied ? made_by(step, before, state) : std::vector<std::string>());
    text += writer.line(step) + '\n';
  }
  return text;
}

}  // namespace

std::vector<std::string> made_by(const Step& step, const State& before, const State& after) {
  const bool stages = after.size() > before.size();
  const StageId s = stage_of(step);
  std::vector<std::string> names = stages ? stage_names(after) : loop_names(after, s);
  const auto old = stages ? static_cast<size_t>(before.size()) : before.stage(s).loops.size();
  names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(old));
  return names;
}

std::string to_string(const Step& step, const State& state) { return Writer(state, {}).line(step); }

std::string to_string(const Trace& trace, const Task& task) { return write(trace, {}, task); }

std::string to_string(const Sketch& sketch, const Task& task) {
  std::vector<int32_t> decisions;
  for (const Slot& s : sketch.slots) decisions.push_back(s.kind == SlotKind::Unroll ? 0 : 1);
  return write(sketch.steps, std::move(decisions), task);
}

}  // namespace espalier
