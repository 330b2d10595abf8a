// Random inputs that are the same everywhere.
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/ir/evaluate.h"

namespace espalier {

/// Arrays for the DAG's inputs and then its constants, in the order of dag.inputs() and
/// dag.constants(). They depend on the seed, the types, shapes and value ranges, and each array's
/// position, and on nothing else.
///
/// Floats have a magnitude in [1/4, 5/4) and are negative one time in four: sums stay far from
/// total cancellation, exponentials from overflow, every sign is met, nothing is zero or subnormal.
/// Integers with a value range are uniform in it. Others have a random number of bits up to the
/// type's width, so that small and extreme values both occur.
std::vector<Array> make_inputs(const ComputeDag& dag, uint64_t seed);

/// One such array for a tensor, drawn from the seed's stream number `stream`.
Array make_input(const TensorNode& tensor, uint64_t seed, uint64_t stream);

}  // namespace espalier
