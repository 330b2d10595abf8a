#include "contest/contest.h"

#include <cstring>
#include <map>

#include "espalier/runtime/inputs.h"
#include "espalier/support/number.h"

namespace espalier::bench {

Result<Contest> Contest::make(const std::string& workload, const Target& target, int threads) {
  Contest contest;
  ESP_TRY(contest.workload_, parse_workload(workload));
  ESP_TRY(contest.task_.dag, make_workload(contest.workload_));
  contest.task_.target = target;
  contest.task_.threads = threads;
  contest.task_.workload = to_string(contest.workload_);

  const ComputeDag& dag = contest.task_.dag;
  contest.arguments_ = make_inputs(dag, 0);
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
    if (i < contest.arguments_.size() && bytes[i] > 0) {
      memcpy(place, contest.arguments_[i].data(), static_cast<size_t>(bytes[i]));
    }
    std::vector<ArrayView>& group = i < dag.inputs().size()         ? contest.inputs_
                                    : i < contest.arguments_.size() ? contest.constants_
                                                                    : contest.outputs_;
    group.emplace_back(place, tensor.dtype, tensor.shape);
  }
  return contest;
}

const std::string* Contest::value(std::string_view key) const {
  for (const auto& [name, text] : workload_.values) {
    if (name == key) return &text;
  }
  return nullptr;
}

int64_t Contest::number(std::string_view key, int64_t otherwise) const {
  const std::string* text = value(key);
  return text != nullptr ? parse_int64(*text).value() : otherwise;
}

std::string Contest::word(std::string_view key, std::string_view otherwise) const {
  const std::string* text = value(key);
  return text != nullptr ? *text : std::string(otherwise);
}

int64_t Contest::either(std::string_view key, std::string_view shorthand, int64_t otherwise) const {
  return number(key, number(shorthand, otherwise));
}

double Contest::scale() const { return parse_double(word("scale", "0.125")).value(); }

std::vector<EpilogueStep> Contest::epilogue() const {
  std::vector<EpilogueStep> steps;
  std::map<std::string, int> met;
  std::string rest = word("epilogue", "");
  while (!rest.empty()) {
    const size_t plus = rest.find('+');
    EpilogueStep step{rest.substr(0, plus), nullptr};
    const int count = met[step.word]++;
    if (step.word == "bias" || step.word == "cscale") {
      step.operand = &array(step.word + (count > 0 ? std::to_string(count) : ""));
    } else if (step.word == "add" || step.word == "mul") {
      step.operand = &array(step.word + std::to_string(count));
    }
    steps.push_back(step);
    rest = plus == std::string::npos ? "" : rest.substr(plus + 1);
  }
  return steps;
}

const ArrayView& Contest::array(std::string_view name) const {
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
    if (found != nullptr) return *found;
  }
  ESP_CHECK(false, "the workload ", task_.workload, " has no array ", name);
  return outputs_[0];
}

}  // namespace espalier::bench
