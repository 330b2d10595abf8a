// Buffers: the memory that loop-level code reads and writes.
#pragma once

#include "espalier/ir/expr.h"

namespace espalier {

enum class BufferScope : uint8_t {
  Param,      // handed in by the caller
  Workspace,  // scratch of the call; inside a parallel loop, one slice a slot
  Stack,      // small, of the innermost function
  Register,   // every index is a constant after unrolling; becomes SSA values
};

struct BufferNode final : RefCounted {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements, one a dimension; may be 0 or negative (params only)
  BufferScope scope = BufferScope::Param;
  int alignment = 64;  // bytes, of the first element

  int64_t elements() const;  // product of the shape
  // Bytes from the lowest to past the highest element.
  int64_t bytes() const;
};

class Buffer : public Ref<const BufferNode> {
 public:
  using Ref<const BufferNode>::Ref;
  Buffer() = default;
  Buffer(Ref<const BufferNode> r) : Ref<const BufferNode>(std::move(r)) {}
};
// A dense row-major buffer.
Buffer make_buffer(std::string name, DType dtype, std::vector<int64_t> shape, BufferScope scope,
                   int alignment = 64);
std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape);
// The same elements, dense, with neighbours along `dim` side by side and the others in order.
Buffer with_innermost(const Buffer& b, int dim);

struct LoadNode final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::Load;
  Buffer buffer;
  // One index a dimension; or exactly one, an element offset, in a buffer that was flattened
  // (see codegen/flatten.h). In a vector load at least one index is a vector of the load's lanes
  // (a Ramp gives contiguous or strided lanes, anything else is a gather).
  std::vector<Expr> indices;
  // Bool (or bool lanes); where it is false nothing is read and the value is 0. Empty: all true.
  Expr predicate;
  bool flat = false;  // `indices` is one element offset
  LoadNode(Type t) : ExprNode(kKind, t) {}
};
// Lanes of an access with these indices: those of its vectors, which must agree; else 1.
int lanes_of(const std::vector<Expr>& indices);
Expr make_load(Buffer buffer, std::vector<Expr> indices, Expr predicate = {});
Expr make_flat_load(Buffer buffer, Expr offset, Expr predicate = {});

}  // namespace espalier
