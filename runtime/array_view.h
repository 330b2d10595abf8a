// Somebody's array: memory with a type, a shape and strides.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "espalier/ir/evaluate.h"

namespace espalier {

/// Does not own what it shows. An Array converts.
struct ArrayView {
  void* data = nullptr;  // the element at index 0 of every dimension
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements, one a dimension; may be 0 or negative

  ArrayView() = default;
  ArrayView(const Array& array);
  /// Dense, in row-major order.
  ArrayView(void* data, DType dtype, std::vector<int64_t> shape);
  ArrayView(void* data, DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides)
      : data(data), dtype(dtype), shape(std::move(shape)), strides(std::move(strides)) {}

  int64_t elements() const;
  /// The bytes it may touch: [first, second) as addresses; both 0 if it has no elements.
  std::pair<uintptr_t, uintptr_t> address_range() const;
};

/// "[2, 3]"
std::string shape_to_string(const std::vector<int64_t>& shape);
/// The position of an element of a row-major array as one index a dimension: "[1, 2]".
std::string index_to_string(int64_t flat, const std::vector<int64_t>& shape);

}  // namespace espalier
