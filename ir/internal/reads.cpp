#include "espalier/ir/internal/reads.h"

#include <unordered_set>

#include "espalier/ir/children.h"
#include "espalier/ir/mutate.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

class ReadWalk {
 public:
  using Callback = std::function<void(const ReadNode&, bool guarded)>;
  explicit ReadWalk(const Callback& f) : f_(f) {}

  void body(const Expr& e) {
    if (const auto* reduce = e.as<ReduceNode>()) {
      if (reduce->where) expr(reduce->where, false);
      expr(reduce->value, static_cast<bool>(reduce->where));
    } else {
      expr(e, false);
    }
  }

 private:
  void expr(const Expr& e, bool guarded) {
    if (!seen_[guarded ? 1 : 0].insert(e.get()).second) return;
    if (const auto* s = e.as<SelectNode>()) {
      expr(s->cond, guarded);
      expr(s->a, true);
      expr(s->b, true);
      return;
    }
    if (const auto* read = e.as<ReadNode>()) f_(*read, guarded);
    for_each_child(*e, [&](const Expr& child) { expr(child, guarded); });
  }

  const Callback& f_;
  std::unordered_set<const ExprNode*> seen_[2];
};

}  // namespace

std::vector<Axis> all_axes(const TensorNode& tensor) {
  std::vector<Axis> axes = tensor.axes;
  if (const auto* reduce = tensor.body.as<ReduceNode>()) {
    axes.insert(axes.end(), reduce->axes.begin(), reduce->axes.end());
  }
  return axes;
}

Bounds bounds_of(const std::vector<Axis>& axes) {
  Bounds bounds;
  for (const Axis& a : axes) {
    if (a.extent > 0) bounds.set(a.var, {0, a.extent - 1});
  }
  return bounds;
}

bool is_empty(const std::vector<Axis>& axes) {
  for (const Axis& a : axes) {
    if (a.extent <= 0) return true;
  }
  return false;
}

bool reads_data(const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& x) {
    found = found || x.kind() == ExprKind::Read;
    return !found;
  });
  return found;
}

std::optional<Interval> range_of(const LinearIndex& form, const std::vector<Axis>& axes) {
  Interval range{form.offset, form.offset};
  for (size_t a = 0; a < axes.size(); ++a) {
    if (form.coef[a] == 0) continue;
    auto span = checked_mul(form.coef[a], axes[a].extent - 1);
    if (!span) return std::nullopt;
    auto end = checked_add(*span < 0 ? range.lo : range.hi, *span);
    if (!end) return std::nullopt;
    (*span < 0 ? range.lo : range.hi) = *end;
  }
  return range;
}

void for_each_read(const TensorNode& tensor,
                   const std::function<void(const ReadNode&, bool guarded)>& f) {
  ReadWalk(f).body(tensor.body);
}

}  // namespace espalier
