// Cost models: candidates a second of the analyzer, with its formula made and while it is made.
#include <benchmark/benchmark.h>

#include "espalier/cost_model/analyzer.h"
#include "espalier/cost_model/features.h"
#include "espalier/cost_model/sketch_formulas.h"
#include "espalier/ir/ops/workload.h"
#include "espalier/search/sketch_space.h"
#include "espalier/search/slots.h"

namespace espalier::bench {
namespace {

struct Subject {
  Task task;
  StructurePtr structure;
  std::vector<Candidate> candidates;
};

// Candidates of the sketch that the rules prefer.
Subject make_subject(const char* workload) {
  Subject subject;
  subject.task.workload = workload;
  subject.task.dag = load_workload(workload).value();
  subject.task.target = host_target();
  const SketchSpace space(subject.task);
  subject.structure = space.preferred();
  Rng rng(1);
  while (subject.candidates.size() < 1024) {
    if (auto c = draw_numbers(subject.task, *subject.structure, rng, 0.2)) {
      subject.candidates.push_back(std::move(*c));
    }
  }
  return subject;
}

void analyzer(benchmark::State& run, const char* workload) {
  const Subject subject = make_subject(workload);
  const auto model = make_analyzer(data_sheet(subject.task.target));
  std::vector<float> scores(subject.candidates.size());
  model->score(subject.task, subject.candidates, scores);
  for (auto _ : run) model->score(subject.task, subject.candidates, scores);
  run.SetItemsProcessed(run.iterations() * static_cast<int64_t>(scores.size()));
}

void analyzer_compile(benchmark::State& run, const char* workload) {
  const Subject subject = make_subject(workload);
  const DeviceModel device = data_sheet(subject.task.target);
  const SketchFormulas formulas(
      1, [device](const State& state, const Shape& shape, std::vector<Quantity>& out) {
        out.push_back(cost_of(state, shape, device).cycles);
      });
  size_t operations = 0;
  for (auto _ : run) {
    operations = formulas.compile(subject.task, subject.candidates[0])->operations();
  }
  run.counters["operations"] = static_cast<double>(operations);
}

// With formulas at hand, as a search has them.
void features(benchmark::State& run, const char* workload) {
  const Subject subject = make_subject(workload);
  const auto source = make_features(data_sheet(subject.task.target));
  std::vector<float> values(subject.candidates.size() * source->names().size());
  std::vector<float> margins(subject.candidates.size());
  source->extract(subject.task, subject.candidates, 1, values, margins);
  for (auto _ : run) source->extract(subject.task, subject.candidates, 1, values, margins);
  run.SetItemsProcessed(run.iterations() * static_cast<int64_t>(margins.size()));
}

// Of a single schedule, from its state.
void features_of_state(benchmark::State& run, const char* workload) {
  const Subject subject = make_subject(workload);
  const DeviceModel device = data_sheet(subject.task.target);
  const State state = replay(subject.task, subject.candidates[0]).take();
  for (auto _ : run) benchmark::DoNotOptimize(features_of(state, device));
}

constexpr const char* kMatmul = "matmul:m=512,n=512,k=512";
constexpr const char* kConvolution =
    "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,epilogue=bias+relu";

BENCHMARK_CAPTURE(analyzer, matmul, kMatmul);
BENCHMARK_CAPTURE(analyzer, convolution, kConvolution);
BENCHMARK_CAPTURE(analyzer_compile, matmul, kMatmul);
BENCHMARK_CAPTURE(analyzer_compile, convolution, kConvolution);
BENCHMARK_CAPTURE(features, matmul, kMatmul);
BENCHMARK_CAPTURE(features, convolution, kConvolution);
BENCHMARK_CAPTURE(features_of_state, matmul, kMatmul);
BENCHMARK_CAPTURE(features_of_state, convolution, kConvolution);

}  // namespace
}  // namespace espalier::bench
