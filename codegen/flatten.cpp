#include "espalier/codegen/flatten.h"

#include <unordered_map>

#include "espalier/ir/mutate.h"
#include "espalier/ir/simplify.h"
#include "espalier/support/check.h"

namespace espalier {
namespace {

// scalar + lane * stride, or `rest` for vectors of any other form (all three add up).
struct LaneForm {
  Expr scalar = make_index(0);
  int64_t stride = 0;
  Expr rest;  // a vector, or empty
};

LaneForm operator+(LaneForm a, const LaneForm& b) {
  a.scalar = is_const(a.scalar, 0) ? b.scalar : make_binary(BinaryOp::Add, a.scalar, b.scalar);
  a.stride += b.stride;
  if (b.rest) a.rest = a.rest ? make_binary(BinaryOp::Add, a.rest, b.rest) : b.rest;
  return a;
}

LaneForm scaled(LaneForm a, int64_t by) {
  if (by == 1) return a;
  a.scalar = make_binary(BinaryOp::Mul, a.scalar, make_index(by));
  a.stride *= by;
  if (a.rest) {
    a.rest =
        make_binary(BinaryOp::Mul, a.rest, make_broadcast(make_index(by), a.rest.type().lanes));
  }
  return a;
}

LaneForm lane_form(const Expr& e) {
  LaneForm form;
  if (!e.type().is_vector()) {
    form.scalar = e;
    return form;
  }
  if (const auto* broadcast = e.as<BroadcastNode>()) {
    form.scalar = broadcast->value;
    return form;
  }
  if (const auto* ramp = e.as<RampNode>()) {
    form.scalar = ramp->base;
    form.stride = ramp->stride;
    return form;
  }
  if (const auto* n = e.as<BinaryNode>()) {
    int64_t by;
    if (n->op == BinaryOp::Add) return lane_form(n->a) + lane_form(n->b);
    if (n->op == BinaryOp::Sub) return lane_form(n->a) + scaled(lane_form(n->b), -1);
    if (n->op == BinaryOp::Mul && is_const_int(n->b, &by)) return scaled(lane_form(n->a), by);
    if (n->op == BinaryOp::Mul && is_const_int(n->a, &by)) return scaled(lane_form(n->b), by);
  }
  form.rest = e;
  return form;
}

Expr offset_of(const Buffer& buffer, const std::vector<Expr>& indices, int lanes) {
  ESP_CHECK(indices.size() == buffer->strides.size(), "an access to ", buffer->name, " has ",
            indices.size(), " indices");
  LaneForm sum;
  for (size_t d = 0; d < indices.size(); ++d) {
    sum = sum + scaled(lane_form(indices[d]), buffer->strides[d]);
  }
  const Expr scalar = simplify(sum.scalar);
  if (lanes == 1) return scalar;
  if (!sum.rest) {
    return sum.stride == 0 ? make_broadcast(scalar, lanes) : make_ramp(scalar, sum.stride, lanes);
  }
  const Expr regular =
      sum.stride == 0 ? make_broadcast(scalar, lanes) : make_ramp(scalar, sum.stride, lanes);
  return make_binary(BinaryOp::Add, sum.rest, regular);
}

int lanes_of(const std::vector<Expr>& indices, int lanes) {
  for (const Expr& e : indices) lanes = std::max(lanes, e.type().lanes);
  return lanes;
}

class Flattener {
 public:
  Stmt run(const Stmt& s) {
    const Stmt mapped = map_children(
        s, [this](const Expr& e) { return expr(e); },
        [this](const Stmt& inner) { return run(inner); });
    if (const auto* n = mapped.as<StoreNode>(); n != nullptr && !n->flat) {
      const int lanes = lanes_of(n->indices, n->value.type().lanes);
      return make_flat_store(n->buffer, offset_of(n->buffer, n->indices, lanes), n->value,
                             n->predicate, n->non_temporal);
    }
    if (const auto* n = mapped.as<PrefetchNode>(); n != nullptr && !n->flat) {
      return make_prefetch(n->buffer, {offset_of(n->buffer, n->indices, 1)}, n->for_write,
                           n->locality, /*flat=*/true);
    }
    return mapped;
  }

 private:
  Expr expr(const Expr& e) {
    const auto* load = e.as<LoadNode>();
    if (load == nullptr || load->flat) {
      return map_children(e, [this](const Expr& part) { return expr(part); });
    }
    if (const auto known = loads_.find(e); known != loads_.end()) return known->second;
    const Expr mapped = map_children(e, [this](const Expr& part) { return expr(part); });
    const auto* n = mapped.as<LoadNode>();
    const Expr flat =
        make_flat_load(n->buffer, offset_of(n->buffer, n->indices, n->type.lanes), n->predicate);
    return loads_[e] = flat;
  }

  struct Hash {
    size_t operator()(const Expr& e) const { return static_cast<size_t>(e->hash); }
  };
  struct Equal {
    bool operator()(const Expr& a, const Expr& b) const { return equal(a, b); }
  };
  // Straight code reads the same again and again.
  std::unordered_map<Expr, Expr, Hash, Equal> loads_;
};

}  // namespace

Stmt flatten(const Stmt& s) { return Flattener().run(s); }

}  // namespace espalier
