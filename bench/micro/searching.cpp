// Searching: structures, numbers, whole proposals, hashes.
#include <benchmark/benchmark.h>

#include "espalier/search/slots.h"
#include "micro/subjects.h"

namespace espalier::bench {
namespace {

void draw_structure(benchmark::State& run) {
  const SketchSpace space(convolution());
  Rng rng(1);
  for (auto _ : run) benchmark::DoNotOptimize(space.draw(rng));
}
BENCHMARK(draw_structure)->Unit(benchmark::kMicrosecond);

void draw_numbers_of_a_structure(benchmark::State& run) {
  const SketchSpace space(convolution());
  const StructurePtr structure = space.preferred();
  Rng rng(1);
  for (auto _ : run) {
    benchmark::DoNotOptimize(draw_numbers(convolution(), *structure, rng, /*keep=*/0));
  }
}
BENCHMARK(draw_numbers_of_a_structure)->Unit(benchmark::kMicrosecond);

// Per candidate: rejected draws and the check for repeats included.
void propose_candidates(benchmark::State& run) {
  constexpr int kBatch = 64;
  const SketchSpace space(convolution());
  uint64_t seed = 0;
  for (auto _ : run) {
    const auto policy = make_policy("random", {}).value();
    const History history;
    const SearchContext context{space, Rng(++seed), history, 1, 0};
    benchmark::DoNotOptimize(policy->propose(context, kBatch));
  }
  run.SetItemsProcessed(run.iterations() * kBatch);
}
BENCHMARK(propose_candidates)->Unit(benchmark::kMillisecond);

void hash_candidate(benchmark::State& run) {
  const Candidate candidate = SketchSpace(convolution()).preferred()->candidate();
  for (auto _ : run) benchmark::DoNotOptimize(candidate.hash());
}
BENCHMARK(hash_candidate)->Unit(benchmark::kNanosecond);

void hash_sketch(benchmark::State& run) {
  const Candidate candidate = SketchSpace(convolution()).preferred()->candidate();
  for (auto _ : run) benchmark::DoNotOptimize(candidate.sketch->hash());
}
BENCHMARK(hash_sketch)->Unit(benchmark::kNanosecond);

// Of a whole definition: shapes, types and bodies.
void hash_definition(benchmark::State& run) {
  for (auto _ : run) benchmark::DoNotOptimize(convolution().dag.hash());
}
BENCHMARK(hash_definition)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace espalier::bench
