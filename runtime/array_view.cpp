#include "espalier/runtime/array_view.h"

#include <algorithm>

#include "espalier/support/check.h"

namespace espalier {

ArrayView::ArrayView(const Array& array) : ArrayView(array.data(), array.dtype(), array.shape()) {}

ArrayView::ArrayView(void* data, DType dtype, std::vector<int64_t> shape)
    : data(data), dtype(dtype), shape(std::move(shape)), strides(dense_strides(this->shape)) {}

int64_t ArrayView::elements() const {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return n;
}

std::pair<uintptr_t, uintptr_t> ArrayView::address_range() const {
  ESP_CHECK(strides.size() == shape.size());
  int64_t lowest = 0, highest = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return {0, 0};
    const int64_t reach = (shape[d] - 1) * strides[d];
    lowest += std::min<int64_t>(reach, 0);
    highest += std::max<int64_t>(reach, 0);
  }
  const auto start = reinterpret_cast<uintptr_t>(data);
  const int64_t width = bytes_of(dtype);
  return {start + static_cast<uintptr_t>(lowest * width),
          start + static_cast<uintptr_t>((highest + 1) * width)};
}

std::string shape_to_string(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t d = 0; d < shape.size(); ++d) {
    text += (d > 0 ? ", " : "") + std::to_string(shape[d]);
  }
  return text + "]";
}

std::string index_to_string(int64_t flat, const std::vector<int64_t>& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return shape_to_string(index);
}

}  // namespace espalier
