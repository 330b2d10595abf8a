#include "espalier/ir/evaluate.h"

#include "espalier/ir/internal/eval_program.h"

namespace espalier {
namespace {

std::string shape_text(DType t, const std::vector<int64_t>& shape) {
  std::string text(name_of(t));
  for (size_t d = 0; d < shape.size(); ++d)
    text += (d == 0 ? "[" : ", ") + std::to_string(shape[d]);
  return text + (shape.empty() ? "[]" : "]");
}

Result<void> check_argument(const StageInfo& s, const Array& a) {
  if (a.data() == nullptr) {
    return make_error(ErrorCode::InvalidArgument, "'", s.name, "' is given no array");
  }
  if (a.dtype() != s.tensor->dtype || a.shape() != s.tensor->shape) {
    return make_error(ErrorCode::InvalidArgument, "'", s.name, "' is ",
                      shape_text(s.tensor->dtype, s.tensor->shape), ", but is given ",
                      shape_text(a.dtype(), a.shape()));
  }
  const auto& range = s.tensor->value_range;
  for (int64_t i = 0; range && i < a.elements(); ++i) {
    const int64_t v = a.get_int(i);
    if (v < range->first || v >= range->second) {
      return make_error(ErrorCode::OutOfRange, "element ", i, " of '", s.name, "' is ", v,
                        "; its values lie from ", range->first, " to ", range->second - 1);
    }
  }
  return {};
}

// Between an array and its elements in 64 bits each, in their evaluation type.
void widen(const Array& from, ScalarBits* to) {
  const DType t = from.dtype();
  const auto* data = static_cast<const std::byte*>(from.data());
  for (int64_t i = 0; i < from.elements(); ++i) to[i] = load_scalar(t, data + i * bytes_of(t));
  if (!is_float(t)) return;
  const UnaryLanes convert = cast_lanes(t, DType::F64);
  constexpr int64_t kChunk = 4096;
  for (int64_t i = 0; i < from.elements(); i += kChunk) {
    convert(to + i, to + i, static_cast<int>(std::min(kChunk, from.elements() - i)));
  }
}
void narrow(const ScalarBits* from, Array& to) {
  const DType t = to.dtype();
  auto* data = static_cast<std::byte*>(to.data());
  for (int64_t i = 0; i < to.elements(); ++i) {
    store_scalar(t, data + i * bytes_of(t), apply_cast(evaluation_type(t), t, from[i]));
  }
}

}  // namespace

Result<std::vector<Array>> evaluate(const ComputeDag& dag, const std::vector<Array>& args) {
  std::vector<int> leaves = dag.inputs();
  leaves.insert(leaves.end(), dag.constants().begin(), dag.constants().end());
  if (args.size() != leaves.size()) {
    return make_error(ErrorCode::InvalidArgument, "the DAG takes ", leaves.size(),
                      " arrays (inputs, then constants), but ", args.size(), " are given");
  }
  std::vector<Array> held(static_cast<size_t>(dag.size()));
  std::vector<const ScalarBits*> values(held.size());
  auto hold = [&](int stage) -> Result<ScalarBits*> {
    ESP_TRY(Array wide, Array::make(DType::U64, dag.stage(stage).tensor->shape));
    auto* bits = static_cast<ScalarBits*>(wide.data());
    held[static_cast<size_t>(stage)] = std::move(wide);
    values[static_cast<size_t>(stage)] = bits;
    return bits;
  };
  for (size_t i = 0; i < leaves.size(); ++i) {
    ESP_TRY_VOID(check_argument(dag.stage(leaves[i]), args[i]));
    ESP_TRY(ScalarBits * bits, hold(leaves[i]));
    widen(args[i], bits);
  }
  for (int i = 0; i < dag.size(); ++i) {
    if (!dag.stage(i).is_compute()) continue;
    ESP_TRY(ScalarBits * bits, hold(i));
    ESP_TRY_VOID(EvalProgram(dag, i).run(values, bits));
  }
  std::vector<Array> outputs;
  for (int o : dag.outputs()) {
    const TensorNode& t = *dag.stage(o).tensor;
    ESP_TRY(Array out, Array::make(t.dtype, t.shape));
    narrow(values[static_cast<size_t>(o)], out);
    outputs.push_back(std::move(out));
  }
  return outputs;
}

}  // namespace espalier
