// Elementwise formulas, and chains of them: the epilogues of all operators.
#pragma once

#include <optional>

#include "espalier/ir/ops/op_def.h"

namespace espalier::ops {

// A stage of the same shape and axis names as `like`.
Tensor pointwise(std::string name, const Tensor& like,
                 const std::function<Expr(const std::vector<Var>&)>& body);

// relu, gelu, exp, ... of a floating-point value; nothing for other names. silu and gelu of -inf
// are 0, hardswish too.
std::optional<Expr> unary_formula(std::string_view name, const Expr& x);
// add, sub, mul, div, mod, min, max, pow; nothing for other names.
std::optional<Expr> binary_formula(std::string_view name, const Expr& a, const Expr& b);

// The index of an operand of shape `from` for element `vars` of a result of shape `to`, which it
// broadcasts to: aligned at the last dimension, extents 1 read at 0.
std::vector<Expr> broadcast_indices(const std::vector<int64_t>& from,
                                    const std::vector<int64_t>& to, const std::vector<Var>& vars);

// Applies the words of a chain in order, one stage each. Unary formulas take nothing; bias and
// cscale take a vector over the result's channel axis, of that name; scale multiplies by the number
// of the key `scale`; cast goes to the type of the key `to`; binary formulas take a further input
// of the result's shape (of `operand_shape` if given), named add0, add1, mul0, ... A name that was
// used already gets a number. Further inputs have the result's type.
Result<OpResult> apply_chain(const Args& args, const std::vector<std::string>& chain, OpResult x,
                             const std::optional<std::vector<int64_t>>& operand_shape = {});

// Y: the result in its own type.
Tensor narrowed(const OpResult& x);

}  // namespace espalier::ops
