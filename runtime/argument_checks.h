// What a kernel checks of the arrays it is called with.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "espalier/ir/buffer.h"
#include "espalier/ir/tensor.h"
#include "espalier/runtime/array_view.h"
#include "espalier/support/result.h"

namespace espalier {

/// One array that a kernel takes.
struct Argument {
  std::string name;  // of the tensor
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  int alignment = 1;  // bytes
  std::optional<std::pair<int64_t, int64_t>> value_range;
};

/// Number, types, shapes, strides, alignment, presence. `what` is "input", "constant" or "output".
Result<void> check_arrays(std::string_view what, std::span<const Argument> wanted,
                          std::span<const ArrayView> given);
/// Elements of the arrays that have a value range; the error names the first one outside.
Result<void> check_value_ranges(std::string_view what, std::span<const Argument> wanted,
                                std::span<const ArrayView> given);
/// No output shares memory with an input or with another output.
Result<void> check_aliasing(std::span<const Argument> input_arguments,
                            std::span<const ArrayView> inputs,
                            std::span<const Argument> output_arguments,
                            std::span<const ArrayView> outputs);

}  // namespace espalier
