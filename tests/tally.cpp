#include "tally.h"

#include <algorithm>
#include <cstdio>

namespace espalier {
namespace {

std::string cell(int64_t n) {
  char text[32];
  std::snprintf(text, sizeof text, "%9lld", static_cast<long long>(n));
  return text;
}

std::string row_name(int kind) {
  std::string name(step_kind_name(kind));
  name.resize(16, ' ');
  return name;
}

}  // namespace

void Tally::add(const Tally& other) {
  cases += other.cases;
  compared += other.compared;
  undrawn += other.undrawn;
  refused += other.refused;
  failed += other.failed;
  for (size_t k = 0; k < kStepKinds; ++k) {
    applied[k] += other.applied[k];
    undone[k] += other.undone[k];
    for (size_t c = 0; c < kRejectionCodes; ++c) rejected[k][c] += other.rejected[k][c];
    for (size_t t = 0; t < kTailKinds; ++t) ran[k][t] += other.ran[k][t];
  }
}

void Tally::count_run(const State& state) {
  for (const Step& step : state.trace()) {
    const uint8_t tails = tails_of(state, stages_around(state, stage_of(step)));
    for (size_t t = 0; t < kTailKinds; ++t) {
      if (has(tails, static_cast<TailKind>(t))) ++ran[static_cast<size_t>(kind_of(step))][t];
    }
  }
}

std::string to_string(const Tally& tally) {
  std::string out = std::to_string(tally.cases) + " cases: " + std::to_string(tally.compared) +
                    " compared, " + std::to_string(tally.refused) + " refused by lowering, " +
                    std::to_string(tally.failed) + " failed; " + std::to_string(tally.undrawn) +
                    " draws came to nothing\n";
  out += "step              applied   undone rejected  ran:none    split    where   vector\n";
  for (int k = 0; k < kStepKinds; ++k) {
    const auto i = static_cast<size_t>(k);
    int64_t rejected = 0;
    for (int64_t n : tally.rejected[i]) rejected += n;
    out += row_name(k) + cell(tally.applied[i]) + cell(tally.undone[i]) + cell(rejected);
    for (int64_t n : tally.ran[i]) out += cell(n);
    out += '\n';
  }
  out += "rejections\n";
  for (int k = 0; k < kStepKinds; ++k) {
    const auto& codes = tally.rejected[static_cast<size_t>(k)];
    std::string row;
    for (int c = 0; c < kRejectionCodes; ++c) {
      const int64_t n = codes[static_cast<size_t>(c)];
      if (n == 0) continue;
      row += " " + std::string(name_of(static_cast<RejectionCode>(c))) + ":" + std::to_string(n);
    }
    if (!row.empty()) out += row_name(k) + row + '\n';
  }
  return out;
}

}  // namespace espalier
