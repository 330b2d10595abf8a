#include "espalier/runtime/argument_checks.h"

#include "espalier/ir/scalar_ops.h"

namespace espalier {
namespace {

// "input 'A'"
std::string quoted(std::string_view what, const Argument& argument) {
  return std::string(what) + " '" + argument.name + "'";
}

bool same_strides(const Argument& wanted, const ArrayView& given) {
  for (size_t d = 0; d < wanted.shape.size(); ++d) {
    if (wanted.shape[d] > 1 && wanted.strides[d] != given.strides[d]) return false;
  }
  return true;
}

Result<void> check_array(std::string_view what, const Argument& wanted, const ArrayView& given) {
  if (given.dtype != wanted.dtype) {
    return make_error(ErrorCode::InvalidArgument, quoted(what, wanted), " is of type ",
                      name_of(given.dtype), " where ", name_of(wanted.dtype), " is expected");
  }
  if (given.shape != wanted.shape) {
    return make_error(ErrorCode::InvalidArgument, quoted(what, wanted), " has the shape ",
                      shape_to_string(given.shape), " where ", shape_to_string(wanted.shape),
                      " is expected");
  }
  if (given.strides.size() != given.shape.size()) {
    return make_error(ErrorCode::InvalidArgument, quoted(what, wanted), " has ",
                      given.strides.size(), " strides for ", given.shape.size(), " dimensions");
  }
  if (given.elements() == 0) return {};
  if (!same_strides(wanted, given)) {
    return make_error(ErrorCode::InvalidArgument, quoted(what, wanted), " has the strides ",
                      shape_to_string(given.strides), " where ", shape_to_string(wanted.strides),
                      " are expected; copy it into a dense array first");
  }
  if (given.data == nullptr) {
    return make_error(ErrorCode::InvalidArgument, quoted(what, wanted), " has no memory");
  }
  if (reinterpret_cast<uintptr_t>(given.data) % static_cast<uintptr_t>(wanted.alignment) != 0) {
    return make_error(ErrorCode::InvalidArgument, quoted(what, wanted),
                      " starts at an address that is no multiple of ", wanted.alignment,
                      " bytes; Array and aligned_alloc give such memory");
  }
  return {};
}

bool overlap(const ArrayView& a, const ArrayView& b) {
  const auto [a_first, a_end] = a.address_range();
  const auto [b_first, b_end] = b.address_range();
  return a_first < b_end && b_first < a_end;
}

Error overlapping(const std::string& output, const std::string& other) {
  return make_error(ErrorCode::InvalidArgument, output, " shares memory with ", other,
                    "; give it memory of its own");
}

}  // namespace

Result<void> check_arrays(std::string_view what, std::span<const Argument> wanted,
                          std::span<const ArrayView> given) {
  if (given.size() != wanted.size()) {
    std::string names;
    for (const Argument& argument : wanted) names += (names.empty() ? "" : ", ") + argument.name;
    return make_error(ErrorCode::InvalidArgument, given.size(), " ", what, "s were given where ",
                      wanted.size(), " are expected", names.empty() ? "" : ": ", names);
  }
  for (size_t k = 0; k < wanted.size(); ++k) ESP_TRY_VOID(check_array(what, wanted[k], given[k]));
  return {};
}

Result<void> check_value_ranges(std::string_view what, std::span<const Argument> wanted,
                                std::span<const ArrayView> given) {
  for (size_t k = 0; k < wanted.size(); ++k) {
    if (!wanted[k].value_range) continue;
    const auto [low, high] = *wanted[k].value_range;
    const ArrayView& array = given[k];
    const int64_t width = bytes_of(array.dtype);
    std::vector<int64_t> index(array.shape.size(), 0);
    const int64_t n = array.elements();
    int64_t offset = 0;
    for (int64_t i = 0; i < n; ++i) {
      const void* element = static_cast<const std::byte*>(array.data) + offset * width;
      const int64_t value = int_from_bits(array.dtype, load_scalar(array.dtype, element));
      // A u64 beyond the range of i64 reads as negative.
      const bool huge = array.dtype == DType::U64 && value < 0;
      if (huge || value < low || value >= high) {
        return make_error(
            ErrorCode::OutOfRange, "element ", index_to_string(i, array.shape), " of ",
            quoted(what, wanted[k]), " is ",
            huge ? std::to_string(static_cast<uint64_t>(value)) : std::to_string(value),
            ", outside its range [", low, ", ", high, ")");
      }
      for (size_t d = index.size(); d-- > 0;) {
        offset += array.strides[d];
        if (++index[d] < array.shape[d]) break;
        offset -= array.strides[d] * array.shape[d];
        index[d] = 0;
      }
    }
  }
  return {};
}

Result<void> check_aliasing(std::span<const Argument> input_arguments,
                            std::span<const ArrayView> inputs,
                            std::span<const Argument> output_arguments,
                            std::span<const ArrayView> outputs) {
  for (size_t o = 0; o < outputs.size(); ++o) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (overlap(outputs[o], inputs[i])) {
        return overlapping(quoted("output", output_arguments[o]),
                           quoted("input", input_arguments[i]));
      }
    }
    for (size_t i = 0; i < o; ++i) {
      if (overlap(outputs[o], outputs[i])) {
        return overlapping(quoted("output", output_arguments[o]),
                           quoted("output", output_arguments[i]));
      }
    }
  }
  return {};
}

}  // namespace espalier
