#include "espalier/ir/buffer.h"

#include "espalier/support/check.h"
#include "espalier/support/hash.h"

namespace espalier {

int64_t BufferNode::elements() const {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

int64_t BufferNode::bytes() const {
  int64_t span = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return 0;
    span += (strides[d] < 0 ? -strides[d] : strides[d]) * (shape[d] - 1);
  }
  return span * bytes_of(dtype);
}

std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

Buffer make_buffer(std::string name, DType dtype, std::vector<int64_t> shape, BufferScope scope,
                   int alignment) {
  auto node = make_ref<BufferNode>();
  node->name = std::move(name);
  node->dtype = dtype;
  node->strides = dense_strides(shape);
  node->shape = std::move(shape);
  node->scope = scope;
  node->alignment = alignment;
  return Buffer(Ref<const BufferNode>(std::move(node)));
}

Buffer with_innermost(const Buffer& b, int dim) {
  if (dim + 1 >= static_cast<int>(b->shape.size())) return b;
  auto node = make_ref<BufferNode>(*b);
  const size_t d = static_cast<size_t>(dim);
  std::vector<int64_t> order = b->shape;
  order.push_back(order[d]);
  order.erase(order.begin() + dim);
  const std::vector<int64_t> strides = dense_strides(order);
  for (size_t i = 0; i < node->strides.size(); ++i) {
    node->strides[i] = i == d ? strides.back() : strides[i > d ? i - 1 : i];
  }
  return Buffer(Ref<const BufferNode>(std::move(node)));
}

int lanes_of(const std::vector<Expr>& indices) {
  int lanes = 1;
  for (const Expr& i : indices) {
    const Type t = i.type();
    ESP_CHECK(t.dtype == DType::I64 && (t.lanes == 1 || lanes == 1 || t.lanes == lanes),
              "index of type ", to_string(t), " beside ", lanes, " lanes");
    if (t.lanes > 1) lanes = t.lanes;
  }
  return lanes;
}

namespace {

Expr make_load_node(Buffer buffer, std::vector<Expr> indices, Expr predicate, bool flat) {
  const Type t{buffer->dtype, lanes_of(indices)};
  uint64_t hash = hash_string(buffer->name, static_cast<uint64_t>(ExprKind::Load));
  hash = hash_combine(hash, static_cast<uint64_t>(t.dtype) << 33 |
                                static_cast<uint64_t>(t.lanes) << 1 | (flat ? 1 : 0));
  for (const Expr& i : indices) hash = hash_combine(hash, i->hash);
  if (predicate) {
    ESP_CHECK(predicate.type() == kBool || predicate.type() == t.with_dtype(DType::Bool),
              "predicate of type ", to_string(predicate.type()), " for ", to_string(t));
    hash = hash_combine(hash, predicate->hash);
  }
  auto node = make_ref<LoadNode>(t);
  node->hash = hash;
  node->buffer = std::move(buffer);
  node->indices = std::move(indices);
  node->predicate = std::move(predicate);
  node->flat = flat;
  return Expr(std::move(node));
}

}  // namespace

Expr make_load(Buffer buffer, std::vector<Expr> indices, Expr predicate) {
  ESP_CHECK(indices.size() == buffer->shape.size(), indices.size(), " indices into ", buffer->name,
            " of rank ", buffer->shape.size());
  return make_load_node(std::move(buffer), std::move(indices), std::move(predicate), false);
}

Expr make_flat_load(Buffer buffer, Expr offset, Expr predicate) {
  return make_load_node(std::move(buffer), {std::move(offset)}, std::move(predicate), true);
}

}  // namespace espalier
