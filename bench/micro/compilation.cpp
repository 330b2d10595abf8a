// Compilation: each pass of the pipeline by its own clock, then what LLVM does.
#include <benchmark/benchmark.h>

#include "espalier/codegen/jit.h"
#include "espalier/codegen/pipeline.h"
#include "micro/subjects.h"

namespace espalier::bench {
namespace {

// Everything runs each time and a part of it is on the clock, so the number of runs is given.
constexpr int kRuns = 30;

void pass(benchmark::State& run, size_t number) {
  for (auto _ : run) {
    PassLog log;
    benchmark::DoNotOptimize(run_passes(convolution_lowered().main, convolution().target, &log));
    run.SetIterationTime(log.entries[number].microseconds / 1e6);
  }
}

void part_of_llvm(benchmark::State& run, double CompileStats::* part) {
  for (auto _ : run) {
    CompileStats stats;
    benchmark::DoNotOptimize(JitCode::compile(convolution_lowered(), convolution().target, &stats));
    run.SetIterationTime(stats.*part / 1e6);
  }
}
BENCHMARK_CAPTURE(part_of_llvm, emit, &CompileStats::emit_us)
    ->UseManualTime()
    ->Iterations(kRuns)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(part_of_llvm, optimize, &CompileStats::optimize_us)
    ->UseManualTime()
    ->Iterations(kRuns)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(part_of_llvm, machine_code, &CompileStats::codegen_us)
    ->UseManualTime()
    ->Iterations(kRuns)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(part_of_llvm, link, &CompileStats::link_us)
    ->UseManualTime()
    ->Iterations(kRuns)
    ->Unit(benchmark::kMicrosecond);

}  // namespace

void register_passes() {
  PassLog log;
  run_passes(convolution_lowered().main, convolution().target, &log);
  for (size_t i = 0; i < log.entries.size(); ++i) {
    benchmark::RegisterBenchmark(("pass/" + std::string(log.entries[i].pass)).c_str(),
                                 [i](benchmark::State& run) { pass(run, i); })
        ->UseManualTime()
        ->Iterations(kRuns)
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace espalier::bench
