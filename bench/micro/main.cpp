// micro: what the compiler's own parts take. Options are Google Benchmark's.
#include <benchmark/benchmark.h>

#include "micro/subjects.h"

int main(int argc, char** argv) {
  espalier::bench::register_passes();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
