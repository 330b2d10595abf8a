// A program that lets the machine choose: it searches for a schedule, compiles the best one and
// calls it. Candidates are measured in a process of their own, which here is this same program.
#include <cstdio>
#include <cstring>
#include <iostream>

#include "espalier/espalier.h"

using namespace espalier;

namespace {

Result<void> tune_and_run(const std::string& own_program) {
  // An operator of the library; any DAG will do.
  Task task;
  ESP_TRY(task.dag, load_workload("softmax:rows=200,cols=300"));
  task.target = host_target();

  MeasureOptions measuring;
  measuring.worker = own_program;
  ESP_TRY(const auto measurer, WorkerMeasurer::make(task, measuring, default_candidate));

  TuneOptions options;
  options.trials = 16;
  options.seconds = 30;
  options.seed = 7;
  ESP_TRY(const TuneReport report, tune(task, options, *measurer));
  std::printf("%d candidates, default %.1f us, best %.1f us\n", report.trials,
              report.default_us.value_or(0), report.best_us);

  ESP_TRY(const Kernel unbound, compile(replay(task, report.best).state()));
  ESP_TRY(const Kernel kernel, unbound.bind({}));  // softmax has no weights
  const std::vector<Array> inputs = make_inputs(task.dag, /*seed=*/1);
  const std::vector<Array> outputs = kernel.make_outputs();
  ESP_TRY_VOID(kernel.run(inputs, outputs));

  double sum = 0;
  for (int64_t j = 0; j < 300; ++j) sum += outputs[0].get(j);
  std::printf("the first row of the result adds up to %.6f\n", sum);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  // The measurer starts us with this argument.
  if (argc == 2 && std::strcmp(argv[1], "worker") == 0) return run_worker(0, 1);
  const Result<void> done = tune_and_run(argv[0]);
  if (!done.ok()) std::cerr << to_string(done.error()) << "\n";
  return done.ok() ? 0 : 1;
}
