#include "espalier/codegen/lane_mask.h"

#include <algorithm>

namespace espalier {

Expr make_prefix_mask(int n, int lanes) {
  return make_binary(BinaryOp::Lt, make_ramp(make_index(0), 1, lanes),
                     make_broadcast(make_index(n), lanes));
}

std::optional<int> prefix_of(const Expr& predicate, int lanes) {
  if (!predicate) return lanes;
  int64_t value;
  if (is_const_int(predicate, &value)) return value != 0 ? lanes : 0;
  const auto* less = predicate.as<BinaryNode>();
  if (less == nullptr || less->op != BinaryOp::Lt) return {};
  const auto* ramp = less->a.as<RampNode>();
  int64_t base, bound;
  if (ramp == nullptr || ramp->stride != 1 || !is_const_int(ramp->base, &base) ||
      !is_const_int(less->b, &bound)) {
    return {};
  }
  return static_cast<int>(std::clamp<int64_t>(bound - base, 0, lanes));
}

int lanes_before(const Expr& predicate, int lanes) {
  if (const std::optional<int> prefix = prefix_of(predicate, lanes)) return *prefix;
  const auto* both = predicate.as<BinaryNode>();
  if (both == nullptr || both->op != BinaryOp::And) return lanes;
  return std::min(lanes_before(both->a, lanes), lanes_before(both->b, lanes));
}

}  // namespace espalier
