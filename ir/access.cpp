#include "espalier/ir/access.h"

#include "espalier/ir/internal/reads.h"
#include "espalier/ir/mutate.h"
#include "espalier/ir/simplify.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

// A linear form whose coefficients and partial sums all fit.
std::optional<LinearIndex> linear(const Expr& e, const std::vector<Axis>& axes) {
  LinearIndex form;
  form.coef.assign(axes.size(), 0);
  if (const auto* c = e.as<ConstNode>()) {
    form.offset = c->i;
    return form;
  }
  if (e.kind() == ExprKind::Var) {
    for (size_t a = 0; a < axes.size(); ++a) {
      if (axes[a].var.same_as(e)) {
        form.coef[a] = 1;
        return form;
      }
    }
    return std::nullopt;
  }
  if (const auto* cast = e.as<CastNode>()) {
    if (cast->type != kIndex || cast->value.type() != kIndex) return std::nullopt;
    return linear(cast->value, axes);
  }
  int64_t factor_a = 1, factor_b = 1;
  std::optional<LinearIndex> a, b;
  if (const auto* u = e.as<UnaryNode>()) {
    if (u->op != UnaryOp::Neg) return std::nullopt;
    a = linear(u->a, axes);
    b = form;
    factor_a = -1;
  } else if (const auto* op = e.as<BinaryNode>()) {
    a = linear(op->a, axes);
    b = linear(op->b, axes);
    if (!a || !b) return std::nullopt;
    auto is_constant = [](const LinearIndex& f) {
      for (int64_t c : f.coef) {
        if (c != 0) return false;
      }
      return true;
    };
    if (op->op == BinaryOp::Mul && is_constant(*a)) {
      factor_b = a->offset;
      a = form;
    } else if (op->op == BinaryOp::Mul && is_constant(*b)) {
      factor_a = b->offset;
      b = form;
    } else if (op->op == BinaryOp::Sub) {
      factor_b = -1;
    } else if (op->op != BinaryOp::Add) {
      return std::nullopt;
    }
  }
  if (!a || !b) return std::nullopt;
  auto blend = [&](int64_t x, int64_t y) -> std::optional<int64_t> {
    auto left = checked_mul(x, factor_a);
    auto right = checked_mul(y, factor_b);
    if (!left || !right) return std::nullopt;
    return checked_add(*left, *right);
  };
  for (size_t i = 0; i < axes.size(); ++i) {
    auto c = blend(a->coef[i], b->coef[i]);
    if (!c) return std::nullopt;
    form.coef[i] = *c;
  }
  auto offset = blend(a->offset, b->offset);
  if (!offset) return std::nullopt;
  form.offset = *offset;
  return form;
}

}  // namespace

LinearIndex linear_index(const Expr& index, const std::vector<Axis>& axes) {
  LinearIndex form;
  form.coef.assign(axes.size(), 0);
  if (reads_data(index)) {
    form.affine = false;
    form.coef.assign(axes.size(), 1);
    return form;
  }
  auto sound = [&](const std::optional<LinearIndex>& f) {
    return f && (is_empty(axes) || range_of(*f, axes));
  };
  std::optional<LinearIndex> found = linear(index, axes);
  Expr e = index;
  if (!sound(found) && !is_empty(axes)) {
    e = simplify(index, bounds_of(axes));
    found = linear(e, axes);
  }
  if (sound(found)) return *found;
  form.affine = false;
  for (size_t a = 0; a < axes.size(); ++a) form.coef[a] = uses_var(e, axes[a].var) ? 1 : 0;
  return form;
}

bool is_always_in_range(const ReadNode& read, const std::vector<Axis>& axes) {
  if (is_empty(axes)) return true;
  for (size_t d = 0; d < read.indices.size(); ++d) {
    const LinearIndex f = linear_index(read.indices[d], axes);
    if (!f.affine) return false;
    const auto range = range_of(f, axes);
    if (!range || range->lo < 0 || range->hi >= read.tensor->shape[d]) return false;
  }
  return true;
}

std::vector<Access> find_accesses(const TensorNode& tensor,
                                  const std::function<int(const TensorNode*)>& stage_of) {
  std::vector<Access> accesses;
  const std::vector<Axis> axes = all_axes(tensor);
  for_each_read(tensor, [&](const ReadNode& read, bool) {
    const int producer = stage_of(read.tensor.get());
    for (const Access& known : accesses) {
      if (known.producer != producer) continue;
      bool same = true;
      for (size_t d = 0; same && d < read.indices.size(); ++d) {
        same = equal(known.indices[d], read.indices[d]);
      }
      if (same) return;
    }
    Access access;
    access.producer = producer;
    access.indices = read.indices;
    for (const Expr& index : read.indices) access.linear.push_back(linear_index(index, axes));
    accesses.push_back(std::move(access));
  });
  return accesses;
}

}  // namespace espalier
