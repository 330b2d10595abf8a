#include "espalier/runtime/inputs.h"

#include "espalier/support/rng.h"

namespace espalier {
namespace {

double draw_float(Rng& rng) {
  const uint64_t bits = rng.next();
  const double magnitude = 0.25 + static_cast<double>(bits >> 40) * 0x1p-24;
  return (bits & 3) == 0 ? -magnitude : magnitude;
}

int64_t draw_int(Rng& rng, int bits) {
  const uint64_t shift = rng.below(static_cast<uint64_t>(bits));
  // Arithmetic, so that both signs keep their small magnitudes; the type's low bits are kept.
  return static_cast<int64_t>(rng.next()) >> (static_cast<uint64_t>(64 - bits) + shift);
}

template <class T>
void fill_floats(const Array& array, Rng& rng) {
  T* at = static_cast<T*>(array.data());
  for (int64_t i = 0; i < array.elements(); ++i) at[i] = static_cast<T>(draw_float(rng));
}

}  // namespace

Array make_input(const TensorNode& tensor, uint64_t seed, uint64_t stream) {
  Rng rng = Rng(seed).fork(stream);
  const DType dtype = tensor.dtype;
  Array array(dtype, tensor.shape);
  if (dtype == DType::F32) {
    fill_floats<float>(array, rng);
    return array;
  }
  if (dtype == DType::F64) {
    fill_floats<double>(array, rng);
    return array;
  }
  const auto range = tensor.value_range;
  for (int64_t i = 0; i < array.elements(); ++i) {
    if (is_float(dtype)) {
      array.set(i, draw_float(rng));
    } else if (dtype == DType::Bool) {
      array.set_int(i, static_cast<int64_t>(rng.below(2)));
    } else if (range && range->first < range->second) {
      array.set_int(i, rng.range(range->first, range->second - 1));
    } else {
      array.set_int(i, draw_int(rng, bits_of(dtype)));
    }
  }
  return array;
}

std::vector<Array> make_inputs(const ComputeDag& dag, uint64_t seed) {
  std::vector<Array> arrays;
  for (const std::vector<int>* group : {&dag.inputs(), &dag.constants()}) {
    for (const int stage : *group) {
      arrays.push_back(make_input(*dag.stage(stage).tensor, seed, arrays.size()));
    }
  }
  return arrays;
}

}  // namespace espalier
