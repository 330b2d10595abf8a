#include <cstdlib>
#include <cstring>
#include <memory>

#include "espalier/ir/evaluate.h"
#include "espalier/ir/scalar_ops.h"
#include "espalier/support/check.h"
#include "espalier/support/number.h"

namespace espalier {

Result<Array> Array::make(DType dtype, std::vector<int64_t> shape) {
  std::optional<int64_t> elements = 1;
  for (int64_t extent : shape) {
    if (extent < 0) {
      return make_error(ErrorCode::InvalidArgument, "an array may not have the extent ", extent);
    }
    if (elements) elements = checked_mul(*elements, extent);
  }
  const auto bytes = elements ? checked_mul(*elements, bytes_of(dtype)) : std::nullopt;
  constexpr size_t kAlignment = 64;
  const auto padded = bytes ? checked_add(*bytes, kAlignment) : std::nullopt;  // never 0
  void* memory = nullptr;
  if (padded) {
    memory = std::aligned_alloc(kAlignment, static_cast<size_t>(*padded) / kAlignment * kAlignment);
  }
  if (memory == nullptr) {
    std::string dims;
    for (int64_t extent : shape) dims += (dims.empty() ? "" : ", ") + std::to_string(extent);
    return make_error(ErrorCode::Resource, "no memory for an array ", name_of(dtype), "[", dims,
                      "]");
  }
  std::memset(memory, 0, static_cast<size_t>(*bytes));
  Array a;
  a.dtype_ = dtype;
  a.shape_ = std::move(shape);
  a.elements_ = *elements;
  a.data_ = std::shared_ptr<std::byte>(static_cast<std::byte*>(memory), std::free);
  return a;
}

Array::Array(DType dtype, std::vector<int64_t> shape)
    : Array(make(dtype, std::move(shape)).value()) {}

namespace {

void* element(const Array& a, int64_t i) {
  ESP_CHECK(i >= 0 && i < a.elements(), "element ", i, " of an array of ", a.elements());
  return static_cast<std::byte*>(a.data()) + i * bytes_of(a.dtype());
}

}  // namespace

double Array::get(int64_t i) const {
  return double_from_bits(dtype_, load_scalar(dtype_, element(*this, i)));
}
int64_t Array::get_int(int64_t i) const {
  return int_from_bits(dtype_, load_scalar(dtype_, element(*this, i)));
}
void Array::set(int64_t i, double v) {
  store_scalar(dtype_, element(*this, i), bits_from_double(dtype_, v));
}
void Array::set_int(int64_t i, int64_t v) {
  store_scalar(dtype_, element(*this, i), bits_from_int(dtype_, v));
}

}  // namespace espalier
