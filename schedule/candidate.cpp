#include "espalier/schedule/candidate.h"

#include "espalier/support/check.h"
#include "espalier/support/hash.h"

namespace espalier {

std::string_view name_of(SlotKind k) {
  switch (k) {
    case SlotKind::Tile: return "tile";
    case SlotKind::Vector: return "vector";
    case SlotKind::Register: return "register";
    case SlotKind::Unroll: return "unroll";
    case SlotKind::Prefetch: return "prefetch";
  }
  ESP_UNREACHABLE("slot kind ", static_cast<int>(k));
}

namespace {

uint64_t hash_trace(const Trace& steps, std::span<const int32_t> decisions) {
  uint64_t hash = steps.size();
  for (const Step& s : steps) hash = hash_combine(hash, espalier::hash_of(s, decisions));
  return hash;
}

}  // namespace

uint64_t Sketch::hash() const {
  uint64_t hash = hash_trace(steps, {});
  for (const Slot& s : slots) hash = hash_combine(hash, static_cast<uint64_t>(s.kind));
  return hash;
}

uint64_t Candidate::hash() const {
  if (!sketch) return 0;
  ESP_CHECK(decisions.size() == sketch->slots.size(), "a candidate with ", decisions.size(),
            " decisions for a sketch with ", sketch->slots.size(), " slots");
  return hash_trace(sketch->steps, decisions);
}

Trace Candidate::trace() const {
  if (!sketch) return {};
  Trace trace = sketch->steps;
  for (Step& step : trace) {
    for_each_num(step, [&](Num& n) {
      if (n.slot < 0) return;
      ESP_CHECK(static_cast<size_t>(n.slot) < decisions.size(), "slot d", n.slot, " of ",
                decisions.size(), " decisions");
      n = {decisions[static_cast<size_t>(n.slot)], -1};
    });
  }
  return trace;
}

Candidate make_candidate(Trace trace) {
  for (const Step& step : trace) {
    for_each_num(step, [&](const Num& n) {
      ESP_CHECK(n.slot < 0, "make_candidate() takes a trace without slots; '", name_of(step),
                "' has d", n.slot);
    });
  }
  auto sketch = std::make_shared<Sketch>();
  sketch->steps = std::move(trace);
  return {std::move(sketch), {}};
}

}  // namespace espalier
