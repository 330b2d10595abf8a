// Tensor definitions: what a user writes down, one node a tensor.
//
//   Tensor A = placeholder("A", {512, 512}), B = placeholder("B", {512, 512});
//   Axis k = reduce_axis("k", 512);
//   Tensor C = compute("C", {512, 512}, [&](Var i, Var j) { return sum(A(i, k) * B(k, j), k); });
//
// Wrong use (a read with the wrong number of indices, a reduction inside another expression, ...)
// gives a poisoned expression, which surfaces as an Error from ComputeDag::make.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <type_traits>

#include "espalier/ir/expr.h"

namespace espalier {

// An iteration axis: its coordinate runs over [0, extent).
struct Axis {
  Var var;
  int64_t extent = 0;
  operator Expr() const { return var; }
};
Axis reduce_axis(std::string name, int64_t extent);

// How a reduction combines its terms. `result = combine(result, term)`, starting at `identity`.
struct Combiner {
  enum class Kind : uint8_t { Sum, Prod, Max, Min, And, Or, Custom };
  Kind kind = Kind::Sum;
  std::string name;  // "sum", "prod", "max", "min", "and", "or", or the custom one's
  // Custom only: an expression over the scalar variables lhs (so far) and rhs (the term).
  Var lhs, rhs;
  Expr body;
  Expr custom_identity;
  // Declared associative and commutative: only then may terms be reordered, vectorized,
  // parallelised or rfactored. Max of floats is, f32 sum is declared so.
  bool reorderable = true;

  Expr identity(Type type) const;          // sum 0, prod 1, max lowest or -inf, min highest or inf
  Expr combine(Expr a, Expr b) const;      // same type as the operands, vectors included
  std::optional<BinaryOp> binary() const;  // the operation of a built-in kind
  static Combiner of(Kind kind);
};

enum class TensorKind : uint8_t { Placeholder, Constant, Compute };

struct TensorNode final : RefCounted {
  TensorKind kind = TensorKind::Placeholder;
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  // Compute: one axis a dimension, and the element's value over them. A reduction's body is a
  // Reduce node.
  std::vector<Axis> axes;
  Expr body;
  // Placeholder of an integer type used as an index: its values lie in [first, second); checked
  // on every call of a kernel.
  std::optional<std::pair<int64_t, int64_t>> value_range;
  std::string error;  // set on wrong use
};

class Tensor : public Ref<const TensorNode> {
 public:
  using Ref<const TensorNode>::Ref;
  Tensor() = default;
  Tensor(Ref<const TensorNode> r) : Ref<const TensorNode>(std::move(r)) {}
  template <class... Indices>
  Expr operator()(Indices... i) const {
    return at({Expr(i)...});
  }
  Expr at(std::vector<Expr> indices) const;
};

struct ReadNode final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::Read;
  Tensor tensor;
  std::vector<Expr> indices;
  ReadNode(Type t) : ExprNode(kKind, t) {}
};
struct ReduceNode final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::Reduce;
  Combiner combiner;
  Expr value;
  Expr where;  // terms for which it is false are absent; empty: all are there
  std::vector<Axis> axes;
  ReduceNode(Type t) : ExprNode(kKind, t) {}
};

Expr make_read(Tensor t, std::vector<Expr> indices);
Expr make_reduce(Combiner c, Expr value, std::vector<Axis> axes, Expr where = {});
Expr poison(std::string message);                  // an expression that carries an error
const std::string* poison_message(const Expr& e);  // null when it is a sound one

// Reductions; the term's type is the result's (cast the term for a wider accumulator).
Expr sum(Expr value, std::vector<Axis> axes, Expr where = {});
Expr prod(Expr value, std::vector<Axis> axes, Expr where = {});
Expr max_over(Expr value, std::vector<Axis> axes, Expr where = {});
Expr min_over(Expr value, std::vector<Axis> axes, Expr where = {});
inline Expr sum(Expr value, Axis axis, Expr where = {}) {
  return sum(std::move(value), std::vector<Axis>{std::move(axis)}, std::move(where));
}

Tensor placeholder(std::string name, std::vector<int64_t> shape, DType dtype = DType::F32,
                   std::optional<std::pair<int64_t, int64_t>> value_range = {});
// A weight: bound once, before the kernel runs, and repacked then if the schedule says so.
Tensor constant(std::string name, std::vector<int64_t> shape, DType dtype = DType::F32);

// A compute over axes of the caller's, one a dimension, which `body` uses.
Tensor compute_with_axes(std::string name, std::vector<Axis> axes, Expr body);
// The axes are named i, j, k, ..., leaving out the names of the body's reduction.
Tensor compute_over(std::string name, std::vector<int64_t> shape,
                    const std::function<Expr(const std::vector<Var>&)>& body);
// `f` takes one Var a dimension.
template <class F>
Tensor compute(std::string name, std::vector<int64_t> shape, F&& f) {
  if constexpr (std::is_invocable_v<F, const std::vector<Var>&>) {
    return compute_over(std::move(name), std::move(shape), f);
  } else {
    return compute_over(std::move(name), std::move(shape), [&](const std::vector<Var>& v) -> Expr {
      if constexpr (std::is_invocable_v<F>) {
        if (v.empty()) return f();
      }
      if constexpr (std::is_invocable_v<F, Var>) {
        if (v.size() == 1) return f(v[0]);
      }
      if constexpr (std::is_invocable_v<F, Var, Var>) {
        if (v.size() == 2) return f(v[0], v[1]);
      }
      if constexpr (std::is_invocable_v<F, Var, Var, Var>) {
        if (v.size() == 3) return f(v[0], v[1], v[2]);
      }
      if constexpr (std::is_invocable_v<F, Var, Var, Var, Var>) {
        if (v.size() == 4) return f(v[0], v[1], v[2], v[3]);
      }
      if constexpr (std::is_invocable_v<F, Var, Var, Var, Var, Var>) {
        if (v.size() == 5) return f(v[0], v[1], v[2], v[3], v[4]);
      }
      if constexpr (std::is_invocable_v<F, Var, Var, Var, Var, Var, Var>) {
        if (v.size() == 6) return f(v[0], v[1], v[2], v[3], v[4], v[5]);
      }
      return poison("the function given to compute() does not take one Var per dimension");
    });
  }
}

}  // namespace espalier
