// espalier explain: what a workload is, and what a schedule makes of it.
#include "espalier/codegen/asm_report.h"
#include "espalier/codegen/emit.h"
#include "espalier/cost_model/explain_cost.h"
#include "espalier/cost_model/features.h"
#include "espalier/ir/ops/workload.h"
#include "espalier/runtime/array_view.h"
#include "espalier/schedule/lower.h"
#include "espalier/search/sketch_space.h"
#include "espalier/support/hash.h"
#include "espalier/support/json.h"
#include "espalier/support/number.h"
#include "schedule_options.h"
#include "task_options.h"
#include "verb.h"

namespace espalier::cli {
namespace {

constexpr size_t kMaxSketchAttempts = 2000;

std::string describe_tensors(const ComputeDag& dag) {
  std::string text;
  for (const InputInfo& input : list_inputs(dag)) {
    text += "  " + input.name + " " + std::string(name_of(input.dtype)) +
            shape_to_string(input.shape) + (input.constant ? ", constant" : "");
    if (input.value_range) {
      text += ", values in [" + std::to_string(input.value_range->first) + ", " +
              std::to_string(input.value_range->second) + ")";
    }
    text += "\n";
  }
  for (int stage : dag.outputs()) {
    const TensorNode& tensor = *dag.stage(stage).tensor.get();
    text += "  " + dag.stage(stage).name + " " + std::string(name_of(tensor.dtype)) +
            shape_to_string(tensor.shape) + ", output\n";
  }
  return text;
}

Json tensors_as_json(const ComputeDag& dag, const std::vector<InputInfo>& inputs) {
  Json json = Json::array();
  for (const InputInfo& input : inputs) {
    json.push(Json::object({{"name", input.name},
                            {"dtype", name_of(input.dtype)},
                            {"shape", input.shape},
                            {"constant", input.constant}}));
  }
  for (int stage : dag.outputs()) {
    const TensorNode& tensor = *dag.stage(stage).tensor.get();
    json.push(Json::object({{"name", dag.stage(stage).name},
                            {"dtype", name_of(tensor.dtype)},
                            {"shape", tensor.shape},
                            {"output", true}}));
  }
  return json;
}

// Every sketch that the rules make, each with the decisions that led to it.
std::string list_sketches(const Task& task) {
  const SketchSpace space(task);
  const SketchSpace::Listing listing = space.list(kMaxSketchAttempts);
  std::string text = std::to_string(listing.structures.size()) + " sketches" +
                     (listing.complete ? "" : " and more") + ", " +
                     std::to_string(listing.rejected) + " combinations rejected\n";
  for (size_t i = 0; i < listing.structures.size(); ++i) {
    const Structure& structure = *listing.structures[i];
    text += "\nsketch " + std::to_string(i) + (i == 0 ? " (preferred)" : "") + "\n";
    for (const StructureChoice& choice : structure.choices) {
      text += "  # " + choice.what + ": " + std::to_string(choice.taken) + " of " +
              std::to_string(choice.options) + "\n";
    }
    text += to_string(*structure.sketch, task);
  }
  return text;
}

Json hot_loops_as_json(const AsmReport& report) {
  Json json = Json::array();
  for (size_t i : report.hot) {
    const MachineLoop& loop = report.loops[i];
    const InstructionCounts& c = loop.counts;
    json.push(Json::object({{"function", loop.function},
                            {"label", loop.label},
                            {"loop", loop.name},
                            {"depth", loop.depth},
                            {"trips", loop.trips},
                            {"first_line", loop.lines.front() + 1},
                            {"instructions", c.total},
                            {"fma", c.fma},
                            {"load", c.loads},
                            {"broadcast", c.broadcasts},
                            {"store", c.stores},
                            {"shuffle", c.shuffles},
                            {"spill_store", c.spill_stores},
                            {"spill_reload", c.spill_reloads},
                            {"other", c.other},
                            {"fma_share", c.fma_share()},
                            {"bytes_per_fma", c.bytes_per_fma()}}));
  }
  return json;
}

// A name and a number a line.
std::string list_features(const State& state) {
  const DeviceModel device = data_sheet(state.task().target);
  const std::vector<float> values = features_of(state, device);
  const std::unique_ptr<FeatureSource> source = make_features(device);
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    text += source->names()[i] + " " + format_float(values[i]) + "\n";
  }
  return text;
}

class ExplainVerb final : public Verb {
 public:
  std::string_view name() const override { return "explain"; }
  std::string_view summary() const override {
    return "show a workload's definition, inputs, sketches, schedule or code";
  }

  void declare(Options& options) override {
    task_.declare(options);
    schedule_.declare(options);
    options.choice("--show", show_,
                   {"dag", "sketches", "steps", "nest", "cost", "features", "ir", "asm"},
                   "one thing only (definition, inputs, steps and nest)");
    options.flag("--json", json_, "one JSON object on standard output");
    options.flag("--quiet", quiet_, "no remarks on standard error");
  }

  Result<ExitCode> run(Console& console) override {
    console.quiet = quiet_;
    ESP_TRY(const Task task, task_.make_task());
    if (show_.empty()) return show_all(task, console);
    if (show_ == "asm") return show_assembly(task, console);
    ESP_TRY(const std::string text, shown(task, console));
    console.print(
        json_ ? Json::object({{"workload", task_.workload()}, {show_, text}}).dump() + "\n" : text);
    return kGood;
  }

 private:
  Result<std::string> shown(const Task& task, Console& console) const {
    if (show_ == "dag") return to_string(task.dag);
    if (show_ == "sketches") return list_sketches(task);
    ESP_TRY(const ChosenSchedule chosen, schedule_.choose(task, console));
    console.note(describe(chosen));
    if (show_ == "steps") return to_string(chosen.state.trace(), task);
    if (show_ == "nest") return print_nest(chosen.state);
    // What data sheets say of the device: the same text on every run.
    if (show_ == "cost") return explain_cost(chosen.state, data_sheet(task.target));
    if (show_ == "features") return list_features(chosen.state);
    ESP_TRY(const LoweredKernel lowered, lower(chosen.state));
    return emit_llvm_ir(lowered, task.target);
  }

  Result<ExitCode> show_assembly(const Task& task, Console& console) const {
    ESP_TRY(const ChosenSchedule chosen, schedule_.choose(task, console));
    console.note(describe(chosen));
    ESP_TRY(const LoweredKernel lowered, lower(chosen.state));
    ESP_TRY(const std::string text, emit_assembly(lowered, task.target));
    const AsmReport report = analyze_assembly(text, asm_syntax(task.target));
    console.print(json_ ? Json::object({{"workload", task_.workload()},
                                        {"target", to_string(task.target)},
                                        {"asm", text},
                                        {"hot_loops", hot_loops_as_json(report)}})
                                  .dump() +
                              "\n"
                        : annotate_assembly(text, report));
    return kGood;
  }

  Result<ExitCode> show_all(const Task& task, Console& console) const {
    ESP_TRY(const ChosenSchedule chosen, schedule_.choose(task, console));
    const std::string steps = to_string(chosen.state.trace(), task);
    const std::string nest = print_nest(chosen.state);
    if (json_) {
      const Json json = Json::object({{"workload", task_.workload()},
                                      {"target", to_string(task.target)},
                                      {"threads", task.threads},
                                      {"flops", task.dag.flops()},
                                      {"hash", hash_to_hex(task.dag.hash())},
                                      {"dag", to_string(task.dag)},
                                      {"tensors", tensors_as_json(task.dag, list_inputs(task.dag))},
                                      {"lookup", chosen.lookup},
                                      {"steps", steps},
                                      {"nest", nest}});
      console.print(json.dump() + "\n");
      return kGood;
    }
    console.print("definition\n" + indented(to_string(task.dag)) + "\ninputs and outputs\n" +
                  describe_tensors(task.dag) + "\nschedule, " + describe(chosen) + "\n" +
                  indented(steps) + "\nloop nest\n" + indented(nest));
    return kGood;
  }

  static std::string indented(const std::string& text) {
    std::string result;
    bool at_start = true;
    for (char c : text) {
      if (at_start && c != '\n') result += "  ";
      result += c;
      at_start = c == '\n';
    }
    if (!at_start) result += "\n";
    return result;
  }

  TaskOptions task_;
  ScheduleOptions schedule_;
  std::string show_;
  bool json_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_explain_verb() { return std::make_unique<ExplainVerb>(); }

}  // namespace espalier::cli
