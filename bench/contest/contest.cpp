#include "contest/contest.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "espalier/ir/ops/workload.h"
#include "espalier/runtime/inputs.h"
#include "espalier/runtime/reference.h"
#include "espalier/search/default_schedule.h"

namespace espalier::bench {
namespace {

bool takes_operand(std::string_view word) {
  for (const char* one :
       {"bias", "cscale", "add", "sub", "mul", "div", "mod", "min", "max", "pow"}) {
    if (word == one) return true;
  }
  return false;
}

}  // namespace

Result<Contest> Contest::make(const std::string& workload, const Target& target, int threads) {
  Contest contest;
  ESP_TRY(contest.task_.dag, load_workload(workload));
  contest.task_.target = target;
  contest.task_.threads = threads;
  contest.task_.workload = workload;
  if (const Result<Workload> spec = parse_workload(workload); spec.ok()) {
    contest.op_ = spec->op;
    contest.task_.workload = to_string(*spec);
    ESP_TRY(contest.keys_, ops::Args::resolve(*ops::find_op(spec->op), spec->values));
  }

  const ComputeDag& dag = contest.task_.dag;
  const std::vector<Array> arguments = make_inputs(dag, 0);
  std::vector<int> stages = dag.inputs();
  stages.insert(stages.end(), dag.constants().begin(), dag.constants().end());
  stages.insert(stages.end(), dag.outputs().begin(), dag.outputs().end());
  std::vector<int64_t> bytes;
  for (int stage : stages) {
    const TensorNode& tensor = *dag.stage(stage).tensor.get();
    int64_t size = bytes_of(tensor.dtype);
    for (int64_t extent : tensor.shape) size *= extent;
    bytes.push_back(size);
  }
  ESP_TRY(contest.arena_, ArrayArena::make(bytes));
  for (size_t i = 0; i < stages.size(); ++i) {
    const TensorNode& tensor = *dag.stage(stages[i]).tensor.get();
    void* place = contest.arena_[static_cast<int>(i)];
    if (i < arguments.size() && bytes[i] > 0) {
      memcpy(place, arguments[i].data(), static_cast<size_t>(bytes[i]));
    }
    std::vector<ArrayView>& group = i < dag.inputs().size() ? contest.inputs_
                                    : i < arguments.size()  ? contest.constants_
                                                            : contest.outputs_;
    group.emplace_back(place, tensor.dtype, tensor.shape);
  }
  return contest;
}

std::vector<ChainStep> Contest::epilogue(size_t skip) const {
  if (op_.empty()) return {};
  std::vector<std::string> words;
  if (op_ == "elementwise") words = keys_->chain("op");
  if (keys_->has("epilogue")) {
    const std::vector<std::string>& more = keys_->chain("epilogue");
    words.insert(words.end(), more.begin(), more.end());
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(skip));
  std::vector<ChainStep> steps;
  size_t operands = 0;
  for (const std::string& word : words) {
    steps.push_back({word, nullptr});
    operands += takes_operand(word) ? 1 : 0;
  }
  // Operands of the chain come after the operator's own inputs, in the order of the chain.
  size_t next = inputs_.size() - operands;
  for (ChainStep& step : steps) {
    if (takes_operand(step.word)) step.operand = &inputs_[next++];
  }
  return steps;
}

const ArrayView* Contest::find(std::string_view name) const {
  const ComputeDag& dag = task_.dag;
  auto search = [&](const std::vector<int>& stages,
                    const std::vector<ArrayView>& views) -> const ArrayView* {
    for (size_t i = 0; i < stages.size(); ++i) {
      if (dag.stage(stages[i]).name == name) return &views[i];
    }
    return nullptr;
  };
  for (const ArrayView* found : {search(dag.inputs(), inputs_), search(dag.constants(), constants_),
                                 search(dag.outputs(), outputs_)}) {
    if (found != nullptr) return found;
  }
  return nullptr;
}

const ArrayView& Contest::array(std::string_view name) const {
  const ArrayView* found = find(name);
  ESP_CHECK(found != nullptr, "the workload ", task_.workload, " has no array ", name);
  return *found;
}

Result<void> Contest::check_outputs(double slack) const {
  ESP_TRY(const Reference reference,
          make_reference(task_, make_inputs(task_.dag, 0), default_candidate));
  std::vector<ExpectedOutput> expected = reference.expected();
  std::vector<std::vector<double>> bounds;
  for (ExpectedOutput& output : expected) {
    if (!is_float(output.dtype) || slack == 0) continue;
    int64_t elements = 1;
    for (int64_t extent : output.shape) elements *= extent;
    std::vector<double> wider(output.bound, output.bound + elements);
    const auto* value = static_cast<const double*>(output.value);
    for (int64_t i = 0; i < elements; ++i) {
      wider[static_cast<size_t>(i)] += slack * std::max(1.0, std::abs(value[i]));
    }
    bounds.push_back(std::move(wider));
    output.bound = bounds.back().data();
  }
  const CheckResult checked = espalier::check_outputs(expected, outputs_);
  if (!checked.ok) return make_error(ErrorCode::Internal, "wrong result: ", checked.message);
  return {};
}

}  // namespace espalier::bench
