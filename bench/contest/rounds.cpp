#include "contest/rounds.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <sstream>

namespace espalier::bench {

Result<Json> Rounds::run() const {
  benchmark::ClearRegisteredBenchmarks();
  auto* registered = benchmark::RegisterBenchmark(name_.c_str(), [this](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) call_();
    if (flops_ > 0) {
      state.counters["flops"] =
          benchmark::Counter(flops_, benchmark::Counter::kIsIterationInvariantRate);
    }
    if (bytes_ > 0) {
      state.counters["bytes"] =
          benchmark::Counter(bytes_, benchmark::Counter::kIsIterationInvariantRate);
    }
    state.SetLabel(label_);
  });
  registered->UseRealTime()->Unit(benchmark::kMicrosecond);
  if (iterations_ > 0) {
    registered->Iterations(iterations_);
  } else {
    registered->MinTime(batch_ms_ / 1e3);
  }
  std::ostringstream out, remarks;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&out);
  reporter.SetErrorStream(&remarks);
  benchmark::RunSpecifiedBenchmarks(&reporter, "all");
  return parse_json(out.str());
}

Result<void> Rounds::calibrate() {
  ESP_TRY(const Json json, run());
  ESP_TRY(const Json all, json.get("benchmarks"));
  if (all.size() != 1) return make_error(ErrorCode::Internal, "the library ran no benchmark");
  ESP_TRY(const int64_t iterations, all[0].get_int("iterations"));
  iterations_ = std::max<int64_t>(1, iterations);
  return {};
}

}  // namespace espalier::bench
