// Schedules: replay, text, the estimate of code size, lowering.
#include <benchmark/benchmark.h>

#include "espalier/schedule/lower.h"
#include "micro/subjects.h"

namespace espalier::bench {
namespace {

void replay_long_trace(benchmark::State& run) {
  const Trace& trace = long_trace();
  for (auto _ : run) benchmark::DoNotOptimize(replay(convolution(), trace));
  run.SetLabel(std::to_string(trace.size()) + " steps");
}
BENCHMARK(replay_long_trace)->Unit(benchmark::kMicrosecond);

void parse_long_trace(benchmark::State& run) {
  const std::string text = to_string(long_trace(), convolution());
  for (auto _ : run) benchmark::DoNotOptimize(parse_trace(text, convolution()));
}
BENCHMARK(parse_long_trace)->Unit(benchmark::kMicrosecond);

void estimate_code_size(benchmark::State& run) {
  const Replayed replayed = replay(convolution(), long_trace());
  for (auto _ : run) benchmark::DoNotOptimize(code_size(replayed.state()));
}
BENCHMARK(estimate_code_size)->Unit(benchmark::kMicrosecond);

void lower_convolution(benchmark::State& run) {
  for (auto _ : run) benchmark::DoNotOptimize(lower(convolution_state()));
}
BENCHMARK(lower_convolution)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace espalier::bench
