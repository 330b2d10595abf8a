// Expressions from text, in the syntax that ir/print.cpp writes.
#pragma once

#include <map>

#include "espalier/ir/tensor.h"
#include "espalier/support/lexer.h"

namespace espalier {

// What names mean: variables stand alone, tensors in front of indices in brackets.
struct ExprScope {
  std::map<std::string, Var, std::less<>> vars;
  const std::map<std::string, Tensor, std::less<>>* tensors = nullptr;
};

// Reads one expression from the lexer, which must allow suffixes. A number without a suffix takes
// the type of what it stands beside; alone, integers are i64 and others f32. Errors tell line and
// column: unknown names, operands of different types, operations that a type does not have,
// nesting beyond kMaxExprDepth.
Result<Expr> parse_expr(Lexer& lexer, const ExprScope& scope);

// The same without a lexer at hand; the whole text must be one expression.
Result<Expr> parse_expr(std::string_view text, const ExprScope& scope);

}  // namespace espalier
