// Whether computed outputs are right.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "espalier/runtime/array_view.h"

namespace espalier {

/// What one output should be. Does not own the memory; all of it dense.
struct ExpectedOutput {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const void* value = nullptr;    // f64 for floats; the output's own type otherwise
  const double* bound = nullptr;  // how far each element may be off
};

struct CheckResult {
  bool ok = true;
  double max_error = 0;   // largest |got - expected| over the finite elements of float outputs
  int64_t unchecked = 0;  // elements of float outputs whose bound is infinite
  // If not ok, the element that is worst in relation to its bound:
  std::string output;
  std::vector<int64_t> index;
  double expected = 0, got = 0, bound = 0;
  std::string
      message;  // "element [1, 2] of output 'Y' is 3 where 4 is expected (at most 1e-6 off)"
};

/// Compares dense outputs with what is expected. Each element must be within its bound, which for
/// integers is 0 unless they were made from floats. NaN is right where NaN is expected and wrong
/// elsewhere, and an infinity is right where it is expected, or where the bound reaches past the
/// type's largest number. A bound of infinity accepts anything.
CheckResult check_outputs(std::span<const ExpectedOutput> expected,
                          std::span<const ArrayView> outputs);

}  // namespace espalier
