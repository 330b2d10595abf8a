#pragma once

#include "espalier/ir/children.h"

namespace espalier {

// Whether `test` holds for an expression or any part of it.
template <class Test>
bool any_part(const Expr& e, const Test& test) {
  if (test(e)) return true;
  bool found = false;
  for_each_child(*e, [&](const Expr& part) { found = found || any_part(part, test); });
  return found;
}

// Whether it holds for any part of the direct expressions of a statement.
template <class Test>
bool any_direct_part(const Stmt& s, const Test& test) {
  bool found = false;
  for_each_child(
      *s, [&](const Expr& e) { found = found || any_part(e, test); }, [](const Stmt&) {});
  return found;
}

}  // namespace espalier
