// The two slow evaluations that everything else is compared with.
#pragma once

#include "espalier/ir/dag.h"
#include "espalier/ir/stmt.h"

namespace espalier {

// A dense row-major array that owns its bytes (64-byte aligned).
class Array {
 public:
  Array() = default;
  // Zero-filled. Too large a one is a failed check in the constructor, an Error in make().
  Array(DType dtype, std::vector<int64_t> shape);
  static Result<Array> make(DType dtype, std::vector<int64_t> shape);
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t elements() const { return elements_; }
  int64_t bytes() const { return elements_ * bytes_of(dtype_); }
  void* data() const { return data_.get(); }
  // Element access by flat index with conversion; for tests and printing, not for speed.
  double get(int64_t i) const;
  int64_t get_int(int64_t i) const;
  void set(int64_t i, double v);
  void set_int(int64_t i, int64_t v);

 private:
  DType dtype_ = DType::F32;
  std::vector<int64_t> shape_;
  int64_t elements_ = 0;
  std::shared_ptr<std::byte> data_;
};

// Evaluates the definition as written, element by element: floating-point sums and products are
// accumulated in f64 and rounded once to the stage's type; integers wrap. `args` are the
// placeholders then the constants, in the order of dag.inputs() and dag.constants(); the results
// are the outputs. Errors: wrong number, type or shape of arguments, an index out of range.
Result<std::vector<Array>> evaluate(const ComputeDag& dag, const std::vector<Array>& args);

// Runs a lowered function on memory as given, one pointer a parameter (first element; dense unless
// the buffer's strides say otherwise). Every access is checked: an index outside a buffer's shape,
// or a read of an element of an allocated buffer that was never written, is an error that names
// the statement. Parallel loops run in order. Math functions that are not expanded use the C
// library in double, rounded to the type.
Result<void> interpret(const LoweredFunc& func, const std::vector<void*>& params);

}  // namespace espalier
