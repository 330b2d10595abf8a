#include "array_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "espalier/runtime/array_view.h"
#include "espalier/runtime/inputs.h"
#include "espalier/runtime/npy.h"
#include "espalier/support/fd.h"
#include "verb.h"

namespace espalier::cli {
namespace {

std::string names_of(const ComputeDag& dag, const std::vector<int>& stages) {
  std::string text;
  for (int stage : stages) text += (text.empty() ? "" : ", ") + dag.stage(stage).name;
  return text;
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat x, y;
  return stat(a.c_str(), &x) == 0 && stat(b.c_str(), &y) == 0 && x.st_dev == y.st_dev &&
         x.st_ino == y.st_ino;
}

// Refuses what would be read without end (a device), would block (a pipe) or is far from what is
// expected, before anything is read.
Result<void> check_file(const std::string& path, const TensorNode& tensor) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return system_error(errno, "read", path);
  if (!S_ISREG(status.st_mode)) {
    return make_error(ErrorCode::Io, "cannot read '", path, "': expected a file, it is a ",
                      S_ISDIR(status.st_mode) ? "folder" : "device or pipe");
  }
  double expected = bytes_of(tensor.dtype);
  for (int64_t extent : tensor.shape) expected *= static_cast<double>(extent);
  constexpr double kHeader = 1 << 20;
  if (static_cast<double>(status.st_size) > 8 * expected + kHeader) {
    return make_error(ErrorCode::InvalidArgument, "'", path, "' holds ",
                      std::to_string(status.st_size), " bytes; expected ", name_of(tensor.dtype),
                      shape_to_string(tensor.shape));
  }
  return {};
}

std::string describe(DType dtype, const std::vector<int64_t>& shape) {
  return std::string(name_of(dtype)) + shape_to_string(shape);
}

}  // namespace

void ArrayFiles::declare(Options& options) {
  options.texts("--in", in_, "NAME=FILE", "an input or constant from a .npy file (else random)");
  options.texts("--out", out_, "NAME=FILE", "write an output to a .npy file");
}

Result<std::vector<ArrayFiles::NamedFile>> ArrayFiles::split(const std::vector<std::string>& given,
                                                             const std::string& option) {
  std::vector<NamedFile> files;
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return usage_error(option, ": expected NAME=FILE, got '", text, "'");
    }
    NamedFile file{text.substr(0, equals), text.substr(equals + 1)};
    for (const NamedFile& other : files) {
      if (other.name == file.name) return usage_error(option, ": '", file.name, "' is given twice");
    }
    files.push_back(std::move(file));
  }
  return files;
}

Result<void> ArrayFiles::check_outputs(const ComputeDag& dag) {
  for (const NamedFile& file : outputs_) {
    const int stage = dag.find(file.name);
    const auto& outputs = dag.outputs();
    if (std::find(outputs.begin(), outputs.end(), stage) == outputs.end()) {
      return usage_error("--out: there is no output '", file.name, "'; there is ",
                         names_of(dag, outputs));
    }
    for (const NamedFile& input : inputs_) {
      if (same_file(file.path, input.path)) {
        return usage_error("--out ", file.name, " would overwrite '", input.path, "', which --in ",
                           input.name, " reads; choose another file");
      }
    }
    for (const NamedFile& other : outputs_) {
      if (&other != &file && other.path == file.path) {
        return usage_error("--out: '", file.name, "' and '", other.name,
                           "' are both to be written to '", file.path, "'");
      }
    }
  }
  return {};
}

Result<std::vector<Array>> ArrayFiles::load(const ComputeDag& dag, uint64_t seed) {
  ESP_TRY(inputs_, split(in_, "--in"));
  ESP_TRY(outputs_, split(out_, "--out"));
  ESP_TRY_VOID(check_outputs(dag));

  std::vector<int> stages = dag.inputs();
  stages.insert(stages.end(), dag.constants().begin(), dag.constants().end());
  std::vector<Array> given(stages.size());
  for (const NamedFile& file : inputs_) {
    const auto at = std::find(stages.begin(), stages.end(), dag.find(file.name));
    if (at == stages.end()) {
      return usage_error("--in: there is no input '", file.name, "'; there are ",
                         names_of(dag, stages));
    }
    const TensorNode& tensor = *dag.stage(*at).tensor.get();
    auto array = [&]() -> Result<Array> {
      ESP_TRY_VOID(check_file(file.path, tensor));
      return read_npy(file.path, tensor.dtype);
    }();
    if (!array.ok()) return with_note(std::move(array).error(), "in --in ", file.name);
    if (array->shape() != tensor.shape) {
      return usage_error("--in ", file.name, ": expected ", describe(tensor.dtype, tensor.shape),
                         ", '", file.path, "' holds ", describe(array->dtype(), array->shape()));
    }
    given[static_cast<size_t>(at - stages.begin())] = *std::move(array);
  }

  for (size_t i = 0; i < stages.size(); ++i) {
    const TensorNode& tensor = *dag.stage(stages[i]).tensor.get();
    // An array that was read has a place for its data, even if it has no elements.
    const bool is_given = std::any_of(inputs_.begin(), inputs_.end(), [&](const NamedFile& f) {
      return dag.find(f.name) == stages[i];
    });
    if (!is_given) given[i] = make_input(tensor, seed, i);
  }
  return given;
}

Result<void> ArrayFiles::save(const ComputeDag& dag, const std::vector<Array>& outputs) const {
  for (const NamedFile& file : outputs_) {
    const auto at = std::find(dag.outputs().begin(), dag.outputs().end(), dag.find(file.name));
    ESP_TRY_VOID(write_npy(file.path, outputs[static_cast<size_t>(at - dag.outputs().begin())]));
  }
  return {};
}

}  // namespace espalier::cli
