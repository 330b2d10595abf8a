// espalier run: the best known kernel of a workload, once.
#include <algorithm>
#include <cmath>

#include "array_files.h"
#include "command_line/table.h"
#include "espalier/runtime/array_view.h"
#include "espalier/runtime/call_timer.h"
#include "espalier/runtime/kernel.h"
#include "espalier/runtime/measure.h"
#include "espalier/runtime/reference.h"
#include "espalier/search/default_schedule.h"
#include "espalier/support/json.h"
#include "espalier/support/number.h"
#include "schedule_options.h"
#include "task_options.h"
#include "verb.h"

namespace espalier::cli {
namespace {

// Outputs compared with the naive evaluator. What either may be off, the reference knows: its
// bounds hold for any order of the terms.
Result<CheckResult> check_with_evaluator(const Task& task, const std::vector<Array>& arguments,
                                         const std::vector<Array>& outputs) {
  ESP_TRY(const std::vector<Array> naive, evaluate(task.dag, arguments));
  ESP_TRY(const Reference reference, make_reference(task, arguments, default_candidate));
  std::vector<ExpectedOutput> expected = reference.expected();
  std::vector<Array> values, bounds;
  for (size_t k = 0; k < expected.size(); ++k) {
    const DType dtype = expected[k].dtype;
    if (!is_float(dtype)) {
      expected[k].value = naive[k].data();
      continue;
    }
    // The evaluator rounds its result once, to the output's type; f16 soon becomes subnormal.
    const double unit = 2 * unit_roundoff(dtype), least = dtype == DType::F16 ? 0x1p-24 : 0;
    values.emplace_back(DType::F64, expected[k].shape);
    bounds.emplace_back(DType::F64, expected[k].shape);
    for (int64_t i = 0; i < values.back().elements(); ++i) {
      const double value = naive[k].get(i);
      values.back().set(i, value);
      bounds.back().set(i, expected[k].bound[i] + unit * std::abs(value) + least);
    }
    expected[k].value = values.back().data();
    expected[k].bound = static_cast<const double*>(bounds.back().data());
  }
  return check_outputs(expected, std::vector<ArrayView>(outputs.begin(), outputs.end()));
}

// Microseconds a call, of a few short batches.
Result<double> time_calls(const Kernel& kernel, std::span<const ArrayView> inputs,
                          std::span<const ArrayView> outputs) {
  Result<void> outcome;
  const std::function<void()> call = [&] {
    if (outcome.ok()) outcome = kernel.run(inputs, outputs);
  };
  CallTimer timer(call, 5);
  timer.warm_up();
  std::vector<double> times;
  for (int repeat = 0; repeat < 5; ++repeat) times.push_back(timer.batch());
  ESP_TRY_VOID(outcome);
  return robust_centre(times);
}

class RunVerb final : public Verb {
 public:
  std::string_view name() const override { return "run"; }
  std::string_view summary() const override {
    return "run the best known kernel of a workload, on given or random inputs";
  }

  void declare(Options& options) override {
    task_.declare(options);
    schedule_.declare(options);
    files_.declare(options);
    options.integer("--seed", seed_, 0, INT64_MAX, "of the random inputs");
    options.flag("--check", check_, "compare the result with the naive evaluator");
    options.flag("--json", json_, "one JSON object on standard output");
    options.flag("--quiet", quiet_, "no remarks on standard error");
  }

  Result<ExitCode> run(Console& console) override {
    console.quiet = quiet_;
    ESP_TRY(const Task task, task_.make_task());
    ESP_TRY_VOID(check_memory(task.dag, check_ ? 8 : 0));
    ESP_TRY(const ChosenSchedule chosen, schedule_.choose(task, console));
    ESP_TRY(const std::vector<Array> arguments,
            files_.load(task.dag, static_cast<uint64_t>(seed_)));
    ESP_TRY(const Kernel unbound, compile(chosen.state));

    const auto constants = arguments.begin() + static_cast<int64_t>(task.dag.inputs().size());
    const std::vector<ArrayView> weights(constants, arguments.end());
    const std::vector<ArrayView> inputs(arguments.begin(), constants);
    ESP_TRY(const Kernel kernel, unbound.bind(weights));
    const std::vector<Array> outputs = kernel.make_outputs();
    const std::vector<ArrayView> views(outputs.begin(), outputs.end());
    ESP_TRY_VOID(kernel.run(inputs, views));
    ESP_TRY_VOID(files_.save(task.dag, outputs));
    std::optional<CheckResult> checked;
    if (check_) {
      ESP_TRY(checked, check_with_evaluator(task, arguments, outputs));
    }
    ESP_TRY(const double us, time_calls(kernel, inputs, views));

    console.print(json_ ? as_json(task, chosen, kernel, us, checked)
                        : as_text(task, chosen, kernel, us, checked));
    if (checked && !checked->ok) {
      return make_error(ErrorCode::Internal, "wrong result: ", checked->message);
    }
    return kGood;
  }

 private:
  std::string as_text(const Task& task, const ChosenSchedule& chosen, const Kernel& kernel,
                      double us, const std::optional<CheckResult>& checked) const {
    std::string text = task_.workload() + "\n" + describe(chosen) + "\n";
    text += "compiled in " + format_fixed(kernel.stats().total_us() / 1e3, 1) + " ms\n";
    for (int stage : task.dag.outputs()) {
      const TensorNode& tensor = *task.dag.stage(stage).tensor.get();
      text += "output " + task.dag.stage(stage).name + " " + std::string(name_of(tensor.dtype)) +
              shape_to_string(tensor.shape) + "\n";
    }
    text += format_fixed(us, 1) + " us a call, " + format_fixed(task.dag.flops() / us / 1e3, 2) +
            " GFLOP/s, " + std::to_string(task.threads) +
            (task.threads == 1 ? " thread\n" : " threads\n");
    if (checked && checked->ok) {
      text += "checked against the naive evaluator: largest difference " +
              rounded(checked->max_error) + "\n";
      if (checked->unchecked > 0) {
        text += std::to_string(checked->unchecked) +
                " elements pass unseen: no bound on their rounding is known\n";
      }
    }
    return text;
  }

  std::string as_json(const Task& task, const ChosenSchedule& chosen, const Kernel& kernel,
                      double us, const std::optional<CheckResult>& checked) const {
    Json outputs = Json::array();
    for (int stage : task.dag.outputs()) {
      const TensorNode& tensor = *task.dag.stage(stage).tensor.get();
      outputs.push(Json::object({{"name", task.dag.stage(stage).name},
                                 {"dtype", name_of(tensor.dtype)},
                                 {"shape", tensor.shape}}));
    }
    Json json = Json::object({{"workload", task_.workload()},
                              {"target", to_string(task.target)},
                              {"threads", task.threads},
                              {"lookup", chosen.lookup},
                              {"compile_ms", kernel.stats().total_us() / 1e3},
                              {"us", us},
                              {"gflops", task.dag.flops() / us / 1e3},
                              {"outputs", std::move(outputs)}});
    if (checked) {
      json.set("verified", checked->ok);
      json.set("max_error", checked->max_error);
      json.set("unchecked", checked->unchecked);
      if (!checked->ok) json.set("error", checked->message);
    }
    return json.dump() + "\n";
  }

  TaskOptions task_;
  ScheduleOptions schedule_;
  ArrayFiles files_;
  int64_t seed_ = 0;
  bool check_ = false, json_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_run_verb() { return std::make_unique<RunVerb>(); }

}  // namespace espalier::cli
