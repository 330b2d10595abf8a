// The kinds of stages that random DAGs are made of.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "espalier/ir/dag.h"
#include "random_expr.h"

namespace espalier {

// A tensor and how large its values get in magnitude, if they are floats.
struct Value {
  Tensor tensor;
  double magnitude = 0;
  const std::vector<int64_t>& shape() const { return tensor->shape; }
  size_t rank() const { return tensor->shape.size(); }
  DType dtype() const { return tensor->dtype; }
};

// Writes one stage after the other, keeping the iterations of all of them near `work`.
class StageWriter {
 public:
  StageWriter(Rng& rng, int64_t work);

  // Stages over fresh inputs.
  Value fresh();  // an input
  Value matmul();
  Value convolution();
  Value depthwise();
  Value transposed_convolution();
  Value gather();

  // Stages over a known tensor.
  Value elementwise(const Value& a);
  Value stencil(const Value& a);
  Value pool(const Value& a);
  Value reduction(const Value& a);
  Value transpose(const Value& a);
  Value reshape(const Value& a);
  Value contraction(const Value& a);  // with a fresh matrix
  Value softmax(Value a);             // several stages

  const std::vector<Value>& stages() const { return stages_; }
  bool exact() const { return exact_; }
  bool has_absent_terms() const { return has_absent_terms_; }

 private:
  using Vars = std::vector<Var>;

  DType draw_dtype();
  int64_t extent(int64_t limit);  // one of the awkward extents, at most `limit`
  std::vector<int64_t> shape(size_t rank, int64_t limit);
  std::string name(const char* prefix) { return prefix + std::to_string(names_++); }
  Axis axis(int64_t n);
  Value input(std::vector<int64_t> shape, DType t);
  Value index_input(std::vector<int64_t> shape, int64_t end);
  Value add(std::vector<int64_t> shape, int64_t reduction,
            const std::function<Operand(const Vars&)>& body);

  // Reads `v` at `at`, cast to `t`.
  Operand read(const Value& v, std::vector<Expr> at, DType t);
  // A read of a fresh input that broadcasts over the axes `at`, which have extents `shape`.
  Operand broadcast_read(const Vars& at, const std::vector<int64_t>& shape, DType t);
  Operand multiply(const Operand& a, const Operand& b);
  // Reduces by some combiner; terms where `where` is false are absent.
  Operand reduce(Operand term, std::vector<Axis> axes, Expr where = {}, bool plain_sum = false);
  Operand custom(const Operand& term, std::vector<Axis> axes, const Expr& where, double count);

  Rng& rng_;
  int64_t work_;
  int names_ = 0;
  bool exact_ = false;
  bool has_absent_terms_ = false;
  DType dtype_ = DType::F32;
  std::vector<Value> stages_;
};

}  // namespace espalier
