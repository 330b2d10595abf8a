#include "espalier/cost_model/explain_cost.h"

#include <algorithm>

#include "espalier/support/number.h"

namespace espalier {
namespace {

std::string number(const Quantity& q, int digits = 0) { return format_fixed(q.number(), digits); }
std::string percent(double share) { return format_fixed(100 * share, 1) + "%"; }

// The largest of some cycles, in words.
std::string_view binding(const StageCost& c) {
  const std::pair<double, std::string_view> candidates[] = {
      {c.compute.number(), "arithmetic"},      {c.loads.number(), "loads"},
      {c.stores.number(), "stores"},           {c.issue.number(), "instructions issued"},
      {c.chain.number(), "the chain of sums"},
  };
  return std::max_element(std::begin(candidates), std::end(candidates),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

std::string_view limit(const StageCost& c) {
  double most = c.core.number();
  std::string_view what = "the core";
  constexpr std::string_view kCaches[] = {"L2 to L1", "L3 to L2", "memory to L3"};
  for (size_t level = 0; level < kCacheLevels; ++level) {
    if (c.cycles[level].number() <= most) continue;
    most = c.cycles[level].number();
    what = kCaches[level];
  }
  return what;
}

std::string body_text(const StageCost& c, const Target& target) {
  std::string text = "  body of " + number(c.rows) + " x " + number(c.vectors) + " vectors";
  if (c.terms.number() > 1) text += " x " + number(c.terms) + " terms";
  text += ", " + number(c.body, 1) + " cycles, bound by " + std::string(binding(c)) + "\n";
  text += "    cycles: arithmetic " + number(c.compute, 1) + ", loads " + number(c.loads, 1) +
          ", stores " + number(c.stores, 1) + ", issue " + number(c.issue, 1) + ", chain " +
          number(c.chain, 1) + "\n";
  text += "    lanes used " + percent(c.lanes_used.number()) + ", registers " +
          number(c.registers, 1) + " of " + std::to_string(target.vector_registers);
  if (c.spilled.number() > 0) text += ", " + number(c.spilled, 1) + " spilled";
  if (c.gathered.number() > 0.05) text += ", " + number(c.gathered, 1) + " lanes one by one";
  return text + "\n";
}

std::string nest_text(const StageCost& c) {
  const double core = std::max(1.0, c.core.number());
  std::string text = "  core " + number(c.core) + " cycles: " + number(c.bodies, 1) + " bodies";
  if (c.tail.number() > 1.0005) text += ", tails +" + percent(c.tail.number() - 1);
  text += ", loops " + percent(c.overhead.number() / core) + ", " + number(c.inner_trip, 1) +
          " iterations of the innermost\n";
  constexpr std::string_view kNames[] = {"L2 to L1", "L3 to L2", "memory to L3"};
  for (size_t level = 0; level < kCacheLevels; ++level) {
    if (c.lines[level].number() < 1) continue;
    text += "  " + std::string(kNames[level]) + " " + number(c.lines[level]) + " lines, " +
            format_fixed(c.lines[level].number() / std::max(1.0, c.needed[level].number()), 2) +
            " times those touched, " + number(c.cycles[level]) + " cycles\n";
  }
  if (c.fullest.number() > 1) {
    text += "  rows compete for the same sets: " + number(c.fullest, 1) + " times their ways\n";
  }
  if (c.tasks.number() > 0) {
    text += "  " + number(c.tasks) + " tasks, cores busy " + percent(c.balance.number());
    if (c.launch.number() > 0) text += ", launch " + number(c.launch) + " cycles";
    text += "\n";
  }
  return text;
}

}  // namespace

std::string explain_cost(const State& state, const DeviceModel& device) {
  const ScheduleCost cost = cost_of(state, shape_of(state), device);
  const double cycles = std::max(1.0, cost.cycles.number());
  std::string text = "predicted " + number(cost.cycles) + " cycles, " +
                     format_fixed(cycles / device.frequency_hz * 1e6, 1) + " us at " +
                     format_fixed(device.frequency_hz / 1e9, 1) + " GHz, " +
                     percent(cost.ideal_cycles / cycles) + " of peak\n";
  std::vector<const StageCost*> stages;
  for (const StageCost& c : cost.stages) stages.push_back(&c);
  std::sort(stages.begin(), stages.end(), [](const StageCost* a, const StageCost* b) {
    return a->time.number() != b->time.number() ? a->time.number() > b->time.number()
                                                : a->stage < b->stage;
  });
  for (const StageCost* c : stages) {
    text += state.stage_name(c->stage) + ": " + percent(c->time.number() / cycles) +
            ", limited by " + std::string(limit(*c)) + "\n";
    text += body_text(*c, state.task().target) + nest_text(*c);
  }
  return text;
}

}  // namespace espalier
