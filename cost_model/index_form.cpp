#include "espalier/cost_model/index_form.h"

#include <algorithm>
#include <cmath>

namespace espalier {
namespace {

// The position of the axis with this variable; the number of axes if there is none.
size_t axis_of(const Expr& var, const std::vector<Axis>& axes) {
  size_t a = 0;
  while (a < axes.size() && !axes[a].var.same_as(var)) ++a;
  return a;
}

IndexForm unknown(size_t axes) {
  return {false, std::vector<double>(axes, 1), std::vector<double>(axes, 1)};
}

double shorter(double a, double b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

}  // namespace

IndexForm index_form(const Expr& e, const std::vector<Axis>& axes) {
  IndexForm form{true, std::vector<double>(axes.size(), 0), std::vector<double>(axes.size(), 0)};
  if (is_const_int(e)) return form;
  if (e.kind() == ExprKind::Var) {
    const size_t a = axis_of(e, axes);
    if (a == axes.size()) return unknown(axes.size());
    form.step[a] = 1;
    return form;
  }
  const auto* binary = e.as<BinaryNode>();
  if (binary == nullptr) return unknown(axes.size());
  const IndexForm a = index_form(binary->a, axes);
  int64_t divisor = 0;
  if (!a.known) return a;
  switch (binary->op) {
    case BinaryOp::Add:
    case BinaryOp::Sub: {
      const IndexForm b = index_form(binary->b, axes);
      if (!b.known) return b;
      for (size_t i = 0; i < axes.size(); ++i) {
        form.step[i] = a.step[i] + (binary->op == BinaryOp::Add ? b.step[i] : -b.step[i]);
        form.period[i] = shorter(a.period[i], b.period[i]);
      }
      return form;
    }
    case BinaryOp::Mul: {
      const bool swapped = is_const_int(binary->a, &divisor);
      if (!swapped && !is_const_int(binary->b, &divisor)) return unknown(axes.size());
      form = swapped ? index_form(binary->b, axes) : a;
      for (double& s : form.step) s *= static_cast<double>(divisor);
      return form;
    }
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod:
      if (!is_const_int(binary->b, &divisor) || divisor < 1) return unknown(axes.size());
      for (size_t i = 0; i < axes.size(); ++i) {
        if (a.step[i] == 0) continue;
        const double run = std::max(1.0, static_cast<double>(divisor) / std::abs(a.step[i]));
        // Steps of whole multiples of the divisor leave the remainder alone.
        const double whole = std::fmod(a.step[i], static_cast<double>(divisor)) == 0
                                 ? a.step[i] / static_cast<double>(divisor)
                                 : 0;
        const bool divides = binary->op == BinaryOp::FloorDiv;
        form.step[i] = whole != 0 ? (divides ? whole : 0) : divides ? 0 : a.step[i];
        form.period[i] = whole != 0 ? a.period[i] : shorter(a.period[i], run);
      }
      return form;
    default: return unknown(axes.size());
  }
}

Quantity index_width(const Expr& e, const std::vector<Axis>& axes,
                     const std::vector<Quantity>& widths, double extent) {
  const Quantity most = std::max(1.0, extent);
  if (is_const_int(e)) return 1;
  if (e.kind() == ExprKind::Var) {
    const size_t a = axis_of(e, axes);
    return a == axes.size() ? most : min(most, widths[a]);
  }
  const auto* binary = e.as<BinaryNode>();
  if (binary == nullptr) return most;
  const double no_limit = 1e18;
  const Quantity a = index_width(binary->a, axes, widths, no_limit);
  int64_t number = 0;
  switch (binary->op) {
    case BinaryOp::Add:
    case BinaryOp::Sub: return min(most, a + index_width(binary->b, axes, widths, no_limit) - 1);
    case BinaryOp::Mul:
      if (is_const_int(binary->b, &number)) {
        return min(most, (a - 1) * static_cast<double>(std::abs(number)) + 1);
      }
      if (is_const_int(binary->a, &number)) {
        const Quantity b = index_width(binary->b, axes, widths, no_limit);
        return min(most, (b - 1) * static_cast<double>(std::abs(number)) + 1);
      }
      return most;
    case BinaryOp::FloorDiv:
      if (!is_const_int(binary->b, &number) || number < 1) return most;
      return min(most, ceil(a / static_cast<double>(number)));
    case BinaryOp::FloorMod:
      if (!is_const_int(binary->b, &number) || number < 1) return most;
      return min(most, min(a, static_cast<double>(number)));
    default: return most;
  }
}

}  // namespace espalier
