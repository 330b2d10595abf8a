// --in and --out: arrays from and to .npy files.
#pragma once

#include <string>
#include <vector>

#include "command_line/options.h"
#include "espalier/ir/dag.h"
#include "espalier/ir/evaluate.h"

namespace espalier::cli {

class ArrayFiles {
 public:
  void declare(Options& options);

  /// Inputs, then constants: those of --in from their files, the others seeded. Every name, file
  /// and shape is looked at before anything large is allocated.
  Result<std::vector<Array>> load(const ComputeDag& dag, uint64_t seed);
  /// What --out asks for.
  Result<void> save(const ComputeDag& dag, const std::vector<Array>& outputs) const;

 private:
  struct NamedFile {
    std::string name, path;
  };
  static Result<std::vector<NamedFile>> split(const std::vector<std::string>& given,
                                              const std::string& option);
  Result<void> check_outputs(const ComputeDag& dag);

  std::vector<std::string> in_, out_;
  std::vector<NamedFile> inputs_, outputs_;
};

}  // namespace espalier::cli
