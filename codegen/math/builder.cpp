#include "espalier/codegen/math/builder.h"

#include <cmath>
#include <limits>

namespace espalier::math {

Expr Builder::bind(Expr e) {
  if (e.kind() == ExprKind::Var || e.kind() == ExprKind::Const) return e;
  if (const auto* n = e.as<BroadcastNode>(); n != nullptr && n->value.kind() == ExprKind::Const) {
    return e;
  }
  const Var v("m" + std::to_string(bindings_->size()), e.type());
  bindings_->emplace_back(v, std::move(e));
  return v;
}

Expr Builder::infinity() const { return number(std::numeric_limits<double>::infinity()); }
Expr Builder::nan() const { return number(std::numeric_limits<double>::quiet_NaN()); }

Expr Builder::with_sign_of(Expr a, Expr s) const {
  const int64_t sign = is_f32() ? int64_t{1} << 31 : std::numeric_limits<int64_t>::min();
  return from_bits(make_binary(BinaryOp::Or, bits(a), bit_and(bits(s), sign)));
}

Expr Builder::polynomial(Expr x, std::initializer_list<double> coefficients) const {
  Expr sum;
  for (auto c = std::rbegin(coefficients); c != std::rend(coefficients); ++c) {
    sum = sum ? make_fma(sum, x, number(*c)) : number(*c);
  }
  return sum;
}

}  // namespace espalier::math
