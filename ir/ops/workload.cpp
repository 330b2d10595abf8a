#include "espalier/ir/ops/workload.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "espalier/ir/ops/pointwise.h"
#include "espalier/support/number.h"

namespace espalier {
namespace ops {

const std::vector<OpDef>& all_ops() {
  static const std::vector<OpDef> table = [] {
    KeyDef dtype;
    dtype.name = "dtype";
    dtype.kind = ValueKind::Type;
    dtype.fallback = "f32";
    KeyDef epilogue;
    epilogue.name = "epilogue";
    epilogue.kind = ValueKind::Chain;
    epilogue.fallback = "";
    KeyDef scale;
    scale.name = "scale";
    scale.kind = ValueKind::Number;
    scale.fallback = "0.125";
    std::vector<OpDef> all;
    for (auto family :
         {matmul_ops, convolution_ops, transposed_convolution_ops, pool_ops, reduce_ops, norm_ops,
          softmax_ops, elementwise_ops, transpose_ops, embedding_ops, attention_ops}) {
      for (OpDef& op : family()) {
        for (const KeyDef& key : {dtype, epilogue, scale}) op.keys.push_back(key);
        all.push_back(std::move(op));
      }
    }
    return all;
  }();
  return table;
}

const OpDef* find_op(std::string_view name) {
  for (const OpDef& op : all_ops()) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

}  // namespace ops

namespace {

constexpr int64_t kMaxTensorBytes = int64_t{1} << 40;
constexpr size_t kMaxFileBytes = size_t{16} << 20;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

Result<const ops::OpDef*> lookup(std::string_view name) {
  if (const ops::OpDef* op = ops::find_op(name)) return op;
  std::string names;
  for (const std::string& n : workload_ops()) names += " " + n;
  return make_error(ErrorCode::NotFound, "there is no operator '", name, "'; operators are", names);
}

Result<void> check_tensor_bytes(const ops::Args& args, const ComputeDag& dag) {
  for (const StageInfo& s : dag.stages()) {
    std::optional<int64_t> bytes = bytes_of(s.tensor->dtype);
    for (int64_t extent : s.tensor->shape) {
      if (bytes) bytes = checked_mul(*bytes, extent);
    }
    if (!bytes || *bytes > kMaxTensorBytes) {
      return args.error("'", s.name, "' would take ",
                        bytes ? std::to_string(*bytes) : std::string("more than 2^63"),
                        " bytes; a tensor may take 2^40");
    }
  }
  return {};
}

}  // namespace

Result<Workload> parse_workload(std::string_view spec) {
  spec = trimmed(spec);
  const size_t colon = spec.find(':');
  ESP_TRY(const ops::OpDef* op, lookup(trimmed(spec.substr(0, colon))));
  ops::KeyValues given;
  if (colon != std::string_view::npos) {
    std::string_view rest = spec.substr(colon + 1);
    while (!trimmed(rest).empty()) {
      const size_t comma = rest.find(',');
      const std::string_view item = trimmed(rest.substr(0, comma));
      const size_t equals = item.find('=');
      if (equals == std::string_view::npos || equals == 0) {
        return make_error(ErrorCode::Parse, op->name, ": '", item,
                          "' is not of the form key=value");
      }
      given.emplace_back(trimmed(item.substr(0, equals)), trimmed(item.substr(equals + 1)));
      if (comma == std::string_view::npos) break;
      rest = rest.substr(comma + 1);
      if (trimmed(rest).empty()) {
        return make_error(ErrorCode::Parse, op->name, ": a key is missing after the last ','");
      }
    }
  }
  ESP_TRY(const ops::Args args, ops::Args::resolve(*op, given));
  return Workload{op->name, args.canonical()};
}

std::string to_string(const Workload& workload) {
  ops::KeyValues values = workload.values;
  if (const ops::OpDef* op = ops::find_op(workload.op)) {
    Result<ops::Args> args = ops::Args::resolve(*op, values);
    if (args.ok()) values = args->canonical();
  }
  std::string text = workload.op;
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? ":" : ",") + values[i].first + "=" + values[i].second;
  }
  return text;
}

Result<ComputeDag> make_workload(const Workload& workload) {
  ESP_TRY(const ops::OpDef* op, lookup(workload.op));
  ESP_TRY(const ops::Args args, ops::Args::resolve(*op, workload.values));
  ESP_TRY(ops::OpResult result, op->build(args));
  std::optional<std::vector<int64_t>> operand_shape;
  if (op->name == "batch_matmul") {
    operand_shape = {{args.integer("m"), args.integer("n")}};
    if (args.word("add") == "n") operand_shape = {{args.integer("n")}};
  }
  ESP_TRY(result, ops::apply_chain(args, args.chain("epilogue"), result, operand_shape));
  Result<ComputeDag> dag = ComputeDag::make({ops::narrowed(result)});
  if (!dag.ok()) {
    return make_error(dag.error().code, op->name, ": ", dag.error().message);
  }
  ESP_TRY_VOID(check_tensor_bytes(args, *dag));
  return dag;
}

Result<ComputeDag> load_workload(std::string_view spec_or_path) {
  const std::string_view text = trimmed(spec_or_path);
  const size_t colon = text.find(':');
  if (ops::find_op(trimmed(text.substr(0, colon))) == nullptr) {
    std::ifstream file{std::string(text), std::ios::binary};
    if (file.is_open() && file.peek() != std::ifstream::traits_type::eof()) {
      std::string content(kMaxFileBytes + 1, '\0');
      file.read(content.data(), static_cast<std::streamsize>(content.size()));
      content.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
      if (content.size() > kMaxFileBytes) {
        return make_error(ErrorCode::InvalidArgument, "'", text,
                          "' is too long for the text of a DAG (16 MiB)");
      }
      Result<ComputeDag> dag = parse_dag(content);
      if (!dag.ok()) return with_note(std::move(dag).error(), "in the file '", text, "'");
      return dag;
    }
    if (file.is_open()) {
      return make_error(ErrorCode::Io, "'", text, "' is empty or cannot be read");
    }
    if (colon == std::string_view::npos) {
      Result<const ops::OpDef*> unknown = lookup(text);
      return make_error(ErrorCode::NotFound, "'", text,
                        "' is neither a readable file nor an operator: ", unknown.error().message);
    }
  }
  ESP_TRY(const Workload workload, parse_workload(text));
  return make_workload(workload);
}

std::vector<InputInfo> list_inputs(const ComputeDag& dag) {
  std::vector<InputInfo> inputs;
  for (const StageInfo& s : dag.stages()) {
    if (s.is_compute()) continue;
    inputs.push_back({s.name, s.tensor->shape, s.tensor->dtype,
                      s.tensor->kind == TensorKind::Constant, s.tensor->value_range});
  }
  return inputs;
}

std::vector<std::string> workload_ops() {
  std::vector<std::string> names;
  for (const ops::OpDef& op : ops::all_ops()) names.push_back(op.name);
  return names;
}

}  // namespace espalier
