#include "espalier/search/sketch_space.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "espalier/support/check.h"

namespace espalier {
namespace {

struct Suitable {
  std::vector<const SketchRule*> rules;  // in the order of the list
  int preferred = 0;
};

Suitable suitable_rules(const SketchRules& rules, const PartialSketch& sketch, StageId s,
                        RulePhase phase) {
  std::vector<std::pair<double, const SketchRule*>> all;
  double best = 0;
  for (const auto& rule : rules) {
    if (rule->phase() != phase) continue;
    const double suits = rule->suits(sketch, s);
    if (suits > 0) all.push_back({suits, rule.get()});
    best = std::max(best, suits);
  }
  Suitable result;
  std::vector<double> suited;
  for (const auto& [suits, rule] : all) {
    if (suits < best / 10) continue;
    result.rules.push_back(rule);
    suited.push_back(suits);
  }
  if (!suited.empty()) {
    result.preferred =
        static_cast<int>(std::max_element(suited.begin(), suited.end()) - suited.begin());
  }
  return result;
}

bool has_empty_axis(const StageInfo& info) {
  auto empty = [](const Axis& a) { return a.extent == 0; };
  return std::any_of(info.axes.begin(), info.axes.end(), empty) ||
         std::any_of(info.reduce_axes.begin(), info.reduce_axes.end(), empty);
}

// The next script in the order that counts through all decisions, each from its preferred option
// on; false at the end.
bool advance(const std::vector<StructureChoice>& taken, std::vector<int>* script) {
  for (size_t i = taken.size(); i-- > 0;) {
    const StructureChoice& c = taken[i];
    // Preferred first, then the others in order.
    int next = c.taken == c.preferred ? 0 : c.taken + 1;
    if (next == c.preferred) ++next;
    if (next >= c.options) continue;
    *script = script_of(taken);
    script->resize(i + 1);
    script->back() = next;
    return true;
  }
  return false;
}

}  // namespace

SketchSpace::SketchSpace(Task task, const SketchRules& custom)
    : task_(std::move(task)), rules_(custom) {
  const SketchRules built_in = default_rules();
  rules_.insert(rules_.end(), built_in.begin(), built_in.end());
}

StructurePtr SketchSpace::make(Chooser& chooser, bool keep_plain, std::string* why) const {
  PartialSketch sketch(task_);
  for (RulePhase phase : {RulePhase::Inline, RulePhase::Nest}) {
    for (int s = task_.dag.size() - 1; s >= 0; --s) {
      const StageId id = static_cast<StageId>(s);
      const StageInfo& info = task_.dag.stage(s);
      if (!info.is_compute() || sketch.finished(id)) continue;
      if (phase == RulePhase::Nest && has_empty_axis(info)) continue;  // nothing to make fast
      const Suitable rules = suitable_rules(rules_, sketch, id, phase);
      if (rules.rules.empty()) continue;
      std::optional<PartialSketch> before;
      if (keep_plain) before = sketch;
      const int count = static_cast<int>(rules.rules.size());
      const int taken =
          count == 1 ? 0 : chooser.choose("rule of " + info.name, count, rules.preferred);
      rules.rules[static_cast<size_t>(taken)]->apply(sketch, id, chooser);
      if (sketch.ok() && code_size(sketch.state()) <= kMaxCodeSize) continue;
      if (why != nullptr) *why = sketch.explain();
      if (!keep_plain) return nullptr;
      sketch = *before;
      sketch.finish(id);
    }
  }
  return intern(sketch, chooser.taken());
}

StructurePtr SketchSpace::intern(const SketchBuilder& built,
                                 const std::vector<StructureChoice>& choices) const {
  const Sketch& sketch = built.sketch();
  auto made = std::make_shared<Structure>();
  made->start = built.start();
  made->slot_names = built.slot_names();
  made->choices = choices;
  const uint64_t hash = sketch.hash();
  const std::lock_guard lock(mutex_);
  std::vector<StructurePtr>& same_hash = by_hash_[hash];
  for (StructurePtr& known : same_hash) {
    if (known->sketch->steps != sketch.steps || known->sketch->slots != sketch.slots) continue;
    made->sketch = known->sketch;
    // Which decisions are remembered must not depend on which thread came first.
    if (script_of(choices) < script_of(known->choices)) known = made;
    return made;
  }
  made->sketch = std::make_shared<const Sketch>(sketch);
  same_hash.push_back(made);
  return made;
}

StructurePtr SketchSpace::preferred() const {
  {
    const std::lock_guard lock(mutex_);
    if (preferred_) return preferred_;
  }
  Chooser first;
  StructurePtr found = make(first);
  const std::vector<StructureChoice> taken = first.taken();
  // One decision differently, the latest first.
  for (size_t i = taken.size(); !found && i-- > 0;) {
    std::vector<int> script = script_of(taken);
    script.resize(i + 1);
    for (int o = 0; o < taken[i].options && !found; ++o) {
      if (o == taken[i].taken) continue;
      script.back() = o;
      found = along(script);
    }
  }
  if (!found) {
    Chooser plain;
    found = make(plain, true);
  }
  const std::lock_guard lock(mutex_);
  if (!preferred_) preferred_ = found;
  return preferred_;
}

StructurePtr SketchSpace::along(const std::vector<int>& script,
                                std::span<const StructureChoice> hints) const {
  Chooser chooser(script, hints);
  return make(chooser);
}

std::string SketchSpace::explain_rejection(const std::vector<int>& script) const {
  Chooser chooser{std::span<const int>(script)};
  std::string why;
  make(chooser, false, &why);
  return why;
}

StructurePtr SketchSpace::draw(Rng& rng, double preference) const {
  Chooser chooser(rng, preference);
  return make(chooser);
}

StructurePtr SketchSpace::find(const Sketch& sketch) const {
  const std::lock_guard lock(mutex_);
  const auto it = by_hash_.find(sketch.hash());
  if (it == by_hash_.end()) return nullptr;
  for (const StructurePtr& known : it->second) {
    if (known->sketch->steps == sketch.steps && known->sketch->slots == sketch.slots) return known;
  }
  return nullptr;
}

SketchSpace::Listing SketchSpace::list(size_t limit) const {
  Listing listing;
  std::unordered_set<const Sketch*> seen;
  auto add = [&](const StructurePtr& s) {
    if (s && seen.insert(s->sketch.get()).second) listing.structures.push_back(s);
  };
  add(preferred());
  std::vector<int> script;
  for (size_t attempts = 0;; ++attempts) {
    if (attempts >= limit) {
      listing.complete = false;
      return listing;
    }
    Chooser chooser{std::span<const int>(script)};
    const StructurePtr made = make(chooser);
    if (!made) ++listing.rejected;
    add(made);
    std::vector<int> next;
    if (!advance(chooser.taken(), &next)) return listing;
    script = std::move(next);
  }
}

}  // namespace espalier
