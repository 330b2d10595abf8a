#include "espalier/search/slots.h"

#include <algorithm>
#include <limits>

#include "espalier/support/check.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

class SlotWalk {
 public:
  SlotWalk(const Task& task, const Sketch& sketch, std::vector<int32_t>* decisions,
           const DecideSlot& decide)
      : task_(task),
        sketch_(sketch),
        decisions_(*decisions),
        decide_(decide),
        state_(State::initial(task)),
        known_(sketch.slots.size(), false) {
    decisions_.resize(sketch.slots.size(), 1);
  }

  Replayed run() {
    for (const Step& step : sketch_.steps) {
      if (const auto* split = std::get_if<SplitStep>(&step)) {
        decide_factors(*split);
      } else {
        decide_rest(step);
      }
      if (std::optional<Rejection> r = state_.apply(step, decisions_)) return *r;
    }
    return std::move(state_);
  }

 private:
  int64_t value(const Num& n) const {
    return n.slot < 0 ? n.value : decisions_[static_cast<size_t>(n.slot)];
  }

  void ask(const Num& n, int64_t extent) {
    const size_t slot = static_cast<size_t>(n.slot);
    if (n.slot < 0 || known_[slot]) return;
    known_[slot] = true;
    const int64_t said =
        decide_(n.slot, domain(sketch_.slots[slot].kind, extent, extent, task_.target));
    decisions_[slot] =
        static_cast<int32_t>(std::clamp<int64_t>(said, 0, std::numeric_limits<int32_t>::max()));
  }

  int64_t extent_of(StageId s, LoopId l) const {
    const bool exists = s >= 0 && s < state_.size() && l >= 0 &&
                        static_cast<size_t>(l) < state_.stage(s).loops.size();
    return exists ? state_.stage(s).loops[static_cast<size_t>(l)].extent : 1;
  }

  void decide_factors(const SplitStep& split) {
    int64_t left = extent_of(split.stage, split.loop);
    for (size_t i = split.factors.size(); i-- > 0;) {
      ask(split.factors[i], std::max<int64_t>(left, 1));
      left = ceil_div(std::max<int64_t>(left, 0), std::max<int64_t>(value(split.factors[i]), 1));
    }
  }

  void decide_rest(const Step& step) {
    int64_t extent = 1;
    if (const auto* annotate = std::get_if<AnnotateStep>(&step)) {
      extent = extent_of(annotate->stage, annotate->loop);
    } else if (const auto* pad = std::get_if<PadStep>(&step)) {
      extent = extent_of(pad->stage, pad->axis);
    }
    for_each_num(step, [&](const Num& n) { ask(n, extent); });
  }

  const Task& task_;
  const Sketch& sketch_;
  std::vector<int32_t>& decisions_;
  const DecideSlot& decide_;
  State state_;
  std::vector<bool> known_;
};

// Counts through the numbers of one structure, like an odometer whose wheels depend on each other.
// False when `all` has grown beyond the limit.
bool enumerate_numbers(const Task& task, const Structure& structure, size_t limit,
                       std::vector<Candidate>* all) {
  std::vector<size_t> script;   // index into the domain, in the order of asking
  std::vector<size_t> options;  // size of each domain
  for (size_t attempts = 0;; ++attempts) {
    // Numbers that are rejected cost time as well.
    if (attempts > 4 * limit) return false;
    options.clear();
    Candidate candidate{structure.sketch, {}};
    const Replayed replayed = decide_slots(task, *structure.sketch, &candidate.decisions,
                                           [&](int, const std::vector<int64_t>& domain) {
                                             const size_t at = options.size();
                                             options.push_back(domain.size());
                                             if (at >= script.size()) script.push_back(0);
                                             return domain[script[at]];
                                           });
    if (is_legal(replayed)) {
      if (all->size() >= limit) return false;
      all->push_back(std::move(candidate));
    }
    script.resize(options.size());
    while (!script.empty() && ++script.back() >= options[script.size() - 1]) script.pop_back();
    if (script.empty()) return true;
  }
}

}  // namespace

Replayed decide_slots(const Task& task, const Sketch& sketch, std::vector<int32_t>* decisions,
                      const DecideSlot& decide) {
  return SlotWalk(task, sketch, decisions, decide).run();
}

bool is_legal(const Replayed& replayed) {
  return replayed.ok() && code_size(replayed.state()) <= kMaxCodeSize;
}

bool is_legal(const Task& task, const Candidate& candidate) {
  return is_legal(replay(task, candidate));
}

std::optional<std::vector<std::vector<int64_t>>> slot_domains(const Task& task,
                                                              const Candidate& candidate) {
  std::vector<std::vector<int64_t>> domains(candidate.decisions.size());
  std::vector<int32_t> decisions = candidate.decisions;
  const Replayed replayed = decide_slots(
      task, *candidate.sketch, &decisions, [&](int slot, const std::vector<int64_t>& domain) {
        const int64_t present = candidate.decisions[static_cast<size_t>(slot)];
        std::vector<int64_t> values = domain;
        const auto at = std::lower_bound(values.begin(), values.end(), present);
        if (at == values.end() || *at != present) values.insert(at, present);
        domains[static_cast<size_t>(slot)] = std::move(values);
        return present;
      });
  if (!replayed.ok()) return std::nullopt;
  return domains;
}

std::optional<Candidate> draw_numbers(const Task& task, const Structure& structure, Rng& rng,
                                      double keep) {
  Candidate candidate{structure.sketch, {}};
  const Replayed replayed =
      decide_slots(task, *structure.sketch, &candidate.decisions,
                   [&](int slot, const std::vector<int64_t>& domain) {
                     if (rng.chance(keep)) {
                       return int64_t{structure.start[static_cast<size_t>(slot)]};
                     }
                     return domain[rng.below(domain.size())];
                   });
  if (!is_legal(replayed)) return std::nullopt;
  return candidate;
}

std::optional<Candidate> carry_numbers(const Task& task, const Structure& structure,
                                       const std::vector<std::string>& names,
                                       const std::vector<int32_t>& from) {
  Candidate candidate = structure.candidate();
  for (size_t i = 0; i < structure.slot_names.size(); ++i) {
    const auto same = std::find(names.begin(), names.end(), structure.slot_names[i]);
    if (same != names.end()) {
      candidate.decisions[i] = from[static_cast<size_t>(same - names.begin())];
    }
  }
  if (!is_legal(task, candidate)) return std::nullopt;
  return candidate;
}

std::optional<std::vector<Candidate>> enumerate_space(const SketchSpace& space, size_t limit) {
  const SketchSpace::Listing listing = space.list(4 * limit);
  if (!listing.complete) return std::nullopt;
  std::vector<Candidate> all;
  for (const StructurePtr& s : listing.structures) {
    if (!enumerate_numbers(space.task(), *s, limit, &all)) return std::nullopt;
  }
  return all;
}

}  // namespace espalier
