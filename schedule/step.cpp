#include "espalier/schedule/step.h"

#include "espalier/support/check.h"
#include "espalier/support/hash.h"

namespace espalier {

std::string_view name_of(Annotation a) {
  switch (a) {
    case Annotation::Parallel: return "parallel";
    case Annotation::Vectorize: return "vectorize";
    case Annotation::Unroll: return "unroll";
    case Annotation::Prefetch: return "prefetch";
    case Annotation::Partition: return "partition";
    case Annotation::NonTemporal: return "non_temporal";
    case Annotation::Registers: return "registers";
  }
  ESP_UNREACHABLE("annotation ", static_cast<int>(a));
}

std::string_view name_of(const Step& s) {
  return std::visit([](const auto& step) { return step.kName; }, s);
}

StageId stage_of(const Step& s) {
  return std::visit([](const auto& step) { return step.stage; }, s);
}

namespace {

struct Hasher : StepVisitor {
  uint64_t hash;
  std::span<const int32_t> decisions;

  Hasher(uint64_t seed, std::span<const int32_t> d) : hash(seed), decisions(d) {}
  void add(int64_t x) { hash = hash_combine(hash, static_cast<uint64_t>(x)); }
  void stage(StageId s) { add(s); }
  void loop(StageId, LoopId l) { add(l); }
  void read(StageId, int16_t r) { add(r); }
  void dim(StageId, int16_t, int16_t d) { add(d); }
  void layout_kind(LayoutEntry::Kind k) { add(static_cast<int64_t>(k)); }
  void annotation(Annotation a) { add(static_cast<int64_t>(a)); }
  void size(size_t n) { add(static_cast<int64_t>(n)); }
  void num(const Num& n) {
    const bool filled = n.slot >= 0 && static_cast<size_t>(n.slot) < decisions.size();
    add(filled ? decisions[static_cast<size_t>(n.slot)] : n.value);
    add(filled ? -1 : n.slot);
  }
};

}  // namespace

uint64_t hash_of(const Step& s, std::span<const int32_t> decisions) {
  Hasher hasher(hash_string(name_of(s)), decisions);
  visit_fields(s, hasher);
  return hasher.hash;
}

}  // namespace espalier
