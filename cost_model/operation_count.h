// How many operations one element, or one term, of a definition takes.
#pragma once

#include "espalier/schedule/state.h"

namespace espalier {

// By what they cost. A multiplication whose result is added counts as one operation with the
// addition.
struct OperationCount {
  double plain = 0;              // add, multiply, compare, choose, convert: one instruction each
  double divisions = 0;          // of floats, and square roots
  double functions = 0;          // exp, erf, pow, ...: polynomials of `kFunctionCost` plain ones
  double integer_divisions = 0;  // done lane by lane
  void add(const OperationCount& o, double times = 1);
};

// Of what stage `s` computes an iteration: a term and its combination, an element, a copy (0), with
// what was inlined.
OperationCount count_operations(const State& state, StageId s);

}  // namespace espalier
